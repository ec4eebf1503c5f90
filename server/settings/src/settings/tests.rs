use expect_test::expect;

use super::*;

#[test]
fn the_schema_describes_the_file() {
    expect![[r##"
        {
          "type": "object",
          "properties": {
            "model": {
              "type": [
                "string",
                "null"
              ],
              "description": "The model of new sessions: `provider/model`, a name, or an alias such as `sonnet`.",
              "default": null
            },
            "fallbackModel": {
              "type": [
                "string",
                "null"
              ],
              "description": "The model that takes over while the main one is overloaded.",
              "default": null
            },
            "permissions": {
              "$ref": "#/$defs/Permissions"
            },
            "systemPrompt": {
              "type": [
                "string",
                "null"
              ],
              "description": "Replaces the standing part of the system prompt.",
              "default": null
            },
            "appendSystemPrompt": {
              "type": [
                "string",
                "null"
              ],
              "description": "Added to the system prompt.",
              "default": null
            },
            "language": {
              "type": [
                "string",
                "null"
              ],
              "description": "The language to answer in.",
              "default": null
            },
            "outputStyle": {
              "type": [
                "string",
                "null"
              ],
              "description": "How answers are to be written, in words.",
              "default": null
            },
            "budgets": {
              "$ref": "#/$defs/Budgets"
            },
            "maxCost": {
              "type": [
                "number",
                "null"
              ],
              "format": "double",
              "description": "A session stops when it has cost this many US dollars.",
              "minimum": 0,
              "default": null
            },
            "maxRounds": {
              "type": "integer",
              "format": "uint32",
              "minimum": 1,
              "description": "A turn stops after this many requests to the model.",
              "default": 500
            },
            "autoMemoryEnabled": {
              "type": "boolean",
              "description": "Whether memories are kept and used. A layer can only switch this off.",
              "default": true
            },
            "autoMemoryDirectory": {
              "type": [
                "string",
                "null"
              ],
              "description": "An absolute folder (or one below `~/`) for memories instead of the project's own.",
              "default": null
            },
            "models": {
              "type": "object",
              "additionalProperties": {
                "$ref": "#/$defs/ModelSettings"
              },
              "description": "What is known about models, by `provider/model`: for models that the built-in table does not list."
            },
            "env": {
              "type": "object",
              "additionalProperties": {
                "type": "string"
              },
              "description": "Environment variables to set, for Reverie and for what it runs. A trusted folder may set some.",
              "default": {}
            },
            "sandbox": {
              "$ref": "#/$defs/Sandbox"
            },
            "webFetch": {
              "$ref": "#/$defs/WebFetch"
            },
            "mcpServers": {
              "type": "object",
              "additionalProperties": {
                "$ref": "#/$defs/McpServer"
              },
              "description": "MCP servers of your own, by name.",
              "default": {}
            },
            "disabledMcpjsonServers": {
              "type": "array",
              "items": {
                "type": "string"
              },
              "description": "Servers of a project's `.mcp.json` that never start, though the folder is trusted. Lists of all files join.",
              "default": []
            }
          },
          "description": "Settings of Reverie. Unknown keys are kept and ignored.",
          "title": "Settings",
          "$schema": "https://json-schema.org/draft/2020-12/schema",
          "$defs": {
            "Permissions": {
              "type": "object",
              "properties": {
                "allow": {
                  "type": "array",
                  "items": {
                    "type": "string"
                  },
                  "description": "Rules such as `Bash(cargo test:*)` for calls that need no question. Lists of all files join.",
                  "default": []
                },
                "ask": {
                  "type": "array",
                  "items": {
                    "type": "string"
                  },
                  "description": "Rules for calls that always ask.",
                  "default": []
                },
                "deny": {
                  "type": "array",
                  "items": {
                    "type": "string"
                  },
                  "description": "Rules for calls that are refused; these win.",
                  "default": []
                },
                "defaultMode": {
                  "$ref": "#/$defs/PermissionMode",
                  "description": "The mode of new sessions."
                }
              }
            },
            "PermissionMode": {
              "type": "string",
              "enum": [
                "plan",
                "default",
                "acceptEdits",
                "bypassPermissions"
              ],
              "description": "Tightest first."
            },
            "Budgets": {
              "type": "object",
              "properties": {
                "turnUsd": {
                  "type": [
                    "number",
                    "null"
                  ],
                  "format": "double",
                  "description": "For one turn.",
                  "minimum": 0,
                  "default": null
                },
                "dayUsd": {
                  "type": [
                    "number",
                    "null"
                  ],
                  "format": "double",
                  "description": "For everything on one day, in all sessions.",
                  "minimum": 0,
                  "default": null
                }
              },
              "description": "Limits in US dollars."
            },
            "ModelSettings": {
              "type": "object",
              "properties": {
                "contextWindow": {
                  "type": [
                    "integer",
                    "null"
                  ],
                  "format": "uint64",
                  "minimum": 1,
                  "description": "Tokens.",
                  "default": null
                },
                "maxOutputTokens": {
                  "type": [
                    "integer",
                    "null"
                  ],
                  "format": "uint64",
                  "minimum": 1,
                  "description": "Tokens.",
                  "default": null
                },
                "inputPrice": {
                  "type": [
                    "number",
                    "null"
                  ],
                  "format": "double",
                  "description": "US dollars for a million tokens.",
                  "minimum": 0,
                  "default": null
                },
                "outputPrice": {
                  "type": [
                    "number",
                    "null"
                  ],
                  "format": "double",
                  "description": "US dollars for a million tokens.",
                  "minimum": 0,
                  "default": null
                }
              }
            },
            "Sandbox": {
              "type": "object",
              "properties": {
                "mainBash": {
                  "type": "boolean",
                  "description": "Whether Bash can write only in the workspace.",
                  "default": false
                },
                "network": {
                  "type": "boolean",
                  "description": "Whether commands inside the walls may use the network.",
                  "default": false
                }
              },
              "description": "Walls around the commands of the main agent. Background agents are always inside."
            },
            "WebFetch": {
              "type": "object",
              "properties": {
                "allowPrivate": {
                  "type": "array",
                  "items": {
                    "type": "string"
                  },
                  "description": "Hosts (`docs.internal`, `10.0.0.7`, `localhost:8080`) that may be fetched although their addresses are private.",
                  "default": []
                }
              }
            },
            "McpServer": {
              "type": "object",
              "properties": {
                "type": {
                  "anyOf": [
                    {
                      "$ref": "#/$defs/McpTransport"
                    },
                    {
                      "type": "null"
                    }
                  ],
                  "description": "`stdio` for a command, `http` for an address, unless told."
                },
                "command": {
                  "type": [
                    "string",
                    "null"
                  ]
                },
                "args": {
                  "type": "array",
                  "items": {
                    "type": "string"
                  }
                },
                "env": {
                  "type": "object",
                  "additionalProperties": {
                    "type": "string"
                  }
                },
                "url": {
                  "type": [
                    "string",
                    "null"
                  ]
                },
                "headers": {
                  "type": "object",
                  "additionalProperties": {
                    "type": "string"
                  }
                }
              },
              "description": "A program to start (`command`) or an address to connect to (`url`)."
            },
            "McpTransport": {
              "type": "string",
              "enum": [
                "stdio",
                "http",
                "sse"
              ]
            }
          }
        }"##]].assert_eq(&serde_json::to_string_pretty(&schema()).unwrap());
}
