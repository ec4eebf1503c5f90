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
            "smallModel": {
              "type": [
                "string",
                "null"
              ],
              "description": "The model of small tasks; `ANTHROPIC_SMALL_FAST_MODEL` where it is not set.",
              "default": null
            },
            "selectorModel": {
              "type": [
                "string",
                "null"
              ],
              "description": "The model that picks memories, where it is not the small one.",
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
            "autoCompactEnabled": {
              "type": "boolean",
              "description": "Whether a long conversation is compacted before it fills the window.",
              "default": true
            },
            "autoCompactPercent": {
              "type": [
                "integer",
                "null"
              ],
              "format": "uint8",
              "minimum": 1,
              "maximum": 100,
              "description": "Compacts at this percentage of the usable window instead of shortly before it is full.",
              "default": null
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
            },
            "hooks": {
              "type": "object",
              "additionalProperties": true,
              "description": "Programs to run at events, by the name of the event. Lists of all files join.",
              "default": {}
            },
            "agents": {
              "type": "object",
              "additionalProperties": true,
              "description": "Agents besides those in files, by name.",
              "default": {}
            },
            "notifications": {
              "$ref": "#/$defs/Notifications"
            },
            "inline": {
              "$ref": "#/$defs/Inline"
            },
            "team": {
              "$ref": "#/$defs/Team"
            },
            "reverie": {
              "$ref": "#/$defs/Reverie"
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
                },
                "backgroundDayUsd": {
                  "type": [
                    "number",
                    "null"
                  ],
                  "format": "double",
                  "description": "For what nobody asked for, on one day: extraction, dreams, notes.",
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
                },
                "disabled": {
                  "type": "boolean",
                  "description": "Kept, but not started."
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
            },
            "Notifications": {
              "type": "object",
              "properties": {
                "quiet": {
                  "type": "boolean",
                  "description": "Whether editors keep to themselves what nobody has to answer.",
                  "default": false
                }
              }
            },
            "Inline": {
              "type": "object",
              "properties": {
                "lens": {
                  "type": "boolean",
                  "description": "Lines above the place that a memory speaks of.",
                  "default": true
                },
                "hints": {
                  "type": "boolean",
                  "description": "Words beside the place that a memory speaks of.",
                  "default": true
                },
                "hover": {
                  "type": "boolean",
                  "description": "The memory itself, under the pointer at that place.",
                  "default": true
                },
                "diagnostics": {
                  "type": "boolean",
                  "description": "What is wrong in memory files, shown in them.",
                  "default": true
                },
                "completion": {
                  "type": "boolean",
                  "description": "What may come next in files that are written for the agent: keys, links, includes.",
                  "default": true
                },
                "navigation": {
                  "type": "boolean",
                  "description": "Links, definitions, references, symbols and folding in files that are written for the agent.",
                  "default": true
                },
                "actions": {
                  "type": "boolean",
                  "description": "What can be done about a memory or a place: quick fixes, renaming, formatting, “Remember something about this”.",
                  "default": true
                },
                "notifications": {
                  "type": "boolean",
                  "description": "What has just happened to a memory, for a moment at the place that it speaks of.",
                  "default": true
                }
              },
              "description": "What editors show about memories within files."
            },
            "Team": {
              "type": "object",
              "properties": {
                "url": {
                  "type": [
                    "string",
                    "null"
                  ],
                  "description": "The server that keeps a team's memories.",
                  "default": null
                },
                "token": {
                  "type": [
                    "string",
                    "null"
                  ],
                  "description": "The token for that server. Never from a file of the workspace.",
                  "default": null
                }
              }
            },
            "Reverie": {
              "type": "object",
              "properties": {
                "features": {
                  "$ref": "#/$defs/Features"
                }
              }
            },
            "Features": {
              "type": "object",
              "properties": {
                "toolResultStorage": {
                  "type": "boolean",
                  "description": "Long tool results go to a file; the model sees their beginning and can read on.",
                  "default": true
                },
                "toolResultLimits": {
                  "anyOf": [
                    {
                      "type": "boolean"
                    },
                    {
                      "type": "object",
                      "additionalProperties": {
                        "type": "integer",
                        "minimum": 1
                      }
                    }
                  ],
                  "description": "Characters of a tool's result that the model sees, by the name of the tool.",
                  "default": {}
                },
                "snip": {
                  "type": "boolean",
                  "description": "The oldest messages of a long conversation are left out of what is sent; the history keeps them.",
                  "default": false
                },
                "microcompactTime": {
                  "anyOf": [
                    {
                      "type": "boolean"
                    },
                    {
                      "$ref": "#/$defs/MicrocompactTime"
                    }
                  ],
                  "description": "After a pause in which the prompt cache grows cold, old tool results are cleared.",
                  "default": {
                    "gapMinutes": 60,
                    "keepRecent": 5
                  }
                },
                "cacheEdits": {
                  "type": "boolean",
                  "description": "Old tool results are cleared by edits of the provider's cache, where it can do that.",
                  "default": false
                },
                "serverContextManagement": {
                  "type": "boolean",
                  "description": "The provider clears old tool results by itself, where it can do that.",
                  "default": true
                },
                "collapse": {
                  "type": "boolean",
                  "description": "Summaries stand for old parts of a long conversation, which can be unfolded; the history keeps everything.",
                  "default": false
                },
                "sessionMemory": {
                  "type": "boolean",
                  "description": "Notes about the session, kept while it goes on.",
                  "default": true
                },
                "sessionMemoryCompact": {
                  "type": "boolean",
                  "description": "Compaction takes those notes instead of asking for a summary.",
                  "default": true
                },
                "reactiveCompaction": {
                  "type": "boolean",
                  "description": "A request that was too long is compacted and sent again.",
                  "default": true
                },
                "reactiveOnly": {
                  "type": "boolean",
                  "description": "Nothing is compacted before a request was too long.",
                  "default": false
                },
                "extraction": {
                  "type": "boolean",
                  "description": "What is worth knowing later is written down at the end of turns.",
                  "default": true
                },
                "extractionEveryN": {
                  "anyOf": [
                    {
                      "type": "boolean"
                    },
                    {
                      "type": "integer",
                      "minimum": 1
                    }
                  ],
                  "description": "Extraction runs after every so many turns.",
                  "default": 1
                },
                "extractionNonInteractive": {
                  "type": "boolean",
                  "description": "Extraction runs also where nobody is there to see it: after `reverie ask`.",
                  "default": false
                },
                "recall": {
                  "type": "boolean",
                  "description": "Memories that fit the prompt are put beside it.",
                  "default": true
                },
                "recallModel": {
                  "type": [
                    "boolean",
                    "string"
                  ],
                  "description": "Who picks the memories: `\"auto\"` (the small model, else the local ranker), `\"local\"`, or a model.",
                  "default": "auto"
                },
                "searchPastContext": {
                  "type": "boolean",
                  "description": "The model is told how to search memories and past sessions.",
                  "default": true
                },
                "dream": {
                  "anyOf": [
                    {
                      "type": "boolean"
                    },
                    {
                      "$ref": "#/$defs/Dream"
                    }
                  ],
                  "description": "Between sessions memories are put in order: after so many hours and sessions, and if set at idle or at a time.",
                  "default": {
                    "minHours": 24,
                    "minSessions": 5
                  }
                },
                "dailyLog": {
                  "type": "boolean",
                  "description": "Memories are added to a file for each day instead, and put in order later.",
                  "default": false
                },
                "teamMemory": {
                  "type": "boolean",
                  "description": "Memories that a team shares, where `team.url` is set.",
                  "default": true
                },
                "agentSummaries": {
                  "type": "boolean",
                  "description": "A few words about what each agent is doing, every half minute.",
                  "default": true
                },
                "prefetch": {
                  "type": "boolean",
                  "description": "Files that will probably be read next are read ahead.",
                  "default": false
                }
              }
            },
            "MicrocompactTime": {
              "type": "object",
              "properties": {
                "gapMinutes": {
                  "type": "integer",
                  "format": "uint32",
                  "minimum": 1,
                  "description": "Minutes without a request.",
                  "default": 60
                },
                "keepRecent": {
                  "type": "integer",
                  "format": "uint32",
                  "minimum": 1,
                  "description": "Results that stay, the newest.",
                  "default": 5
                }
              },
              "description": "When old tool results are cleared, and how many are kept."
            },
            "Dream": {
              "type": "object",
              "properties": {
                "minHours": {
                  "type": "integer",
                  "format": "uint32",
                  "minimum": 1,
                  "description": "Hours since the last time.",
                  "default": 24
                },
                "minSessions": {
                  "type": "integer",
                  "format": "uint32",
                  "minimum": 1,
                  "description": "Sessions since the last time.",
                  "default": 5
                },
                "idleMinutes": {
                  "type": [
                    "integer",
                    "null"
                  ],
                  "format": "uint32",
                  "minimum": 0,
                  "description": "Also when nothing has run for so many minutes."
                },
                "at": {
                  "type": [
                    "string",
                    "null"
                  ],
                  "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$",
                  "description": "Also each night at this time, by the clock on the wall: `\"03:30\"`."
                }
              },
              "description": "When to dream."
            }
          }
        }"##]].assert_eq(&serde_json::to_string_pretty(&schema()).unwrap());
}
