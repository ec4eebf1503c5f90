--- The scripted model, a process of the test kit: real HTTP and real streams, answers as the test says.

local processes = require('harness.processes')
local wait = require('harness.wait')

---@class harness.Delivery
---@field for? string on whose behalf it is asked: `main` if absent, or `recall`, `extraction`, `dream`, `compact`, `title`
---@field behind? string nothing of it comes before this gate is opened
---@field pauses? [integer, string][] so many events come, the others wait for the gate

---@class harness.ModelRequest
---@field role string
---@field last string the text of the last message, results of tools included
---@field tools string[]

---@class harness.Model
---@field url string
---@field private process harness.Process
---@field private lines any[]
local Model = {}
Model.__index = Model

---@param program string
---@param folder string
---@param environment table<string, string>
---@return harness.Model
function Model.start(program, folder, environment)
  local self = setmetatable({ lines = {} }, Model)
  local pending = ''
  self.process = processes.start(program, {
    arguments = {},
    environment = environment,
    folder = folder,
    on_output = function(data)
      pending = pending .. data
      local rest = 1
      for line, after in pending:gmatch('([^\n]*)\n()') do
        table.insert(self.lines, vim.json.decode(line))
        rest = tonumber(after) or rest
      end
      pending = pending:sub(rest)
    end,
  })
  self.url = self:line('its address').url
  return self
end

---@private
function Model:line(what)
  return wait.until_true('from the scripted model, ' .. what, function()
    if #self.lines == 0 and self.process.code then
      error('the scripted model ended: ' .. self.process.errors, 0)
    end
    return table.remove(self.lines, 1)
  end)
end

---@private
---@param command table
function Model:ask(command)
  local text = vim.json.encode(command)
  self.process.input:write(text .. '\n')
  local done = self:line('an answer to ' .. text:sub(1, 200)).done
  return done ~= vim.NIL and done or nil
end

--- Queues a reply, in the language of the scenarios: lines of text, `tool NAME {…}`, `thinking …`, `fault=…`.
---@param body string
---@param delivery? harness.Delivery
function Model:reply(body, delivery)
  self:ask(vim.tbl_extend('error', { reply = body }, delivery or {}))
end

--- Queues a reply made of one text, for what the lines would misread.
---@param text string
---@param delivery? harness.Delivery
function Model:reply_text(text, delivery)
  self:reply(vim.json.encode({ { type = 'text', text = text } }), delivery)
end

--- Queues a call of a tool.
---@param name string
---@param input table
---@param delivery? harness.Delivery
function Model:reply_tool(name, input, delivery)
  self:reply(('tool %s %s'):format(name, vim.json.encode(input)), delivery)
end

--- Answers every call of a role that has no reply of its own.
---@param role string
---@param body string
function Model:always(role, body)
  self:ask({ reply = body, always = role })
end

--- Waits until the server has come to a gate.
---@param gate string
function Model:reached(gate)
  self:ask({ reached = gate })
end

---@param gate string
function Model:open(gate)
  self:ask({ open = gate })
end

--- Waits until so many requests have come.
---@param count integer
function Model:arrived(count)
  self:ask({ arrived = count })
end

---@param role? string
---@return harness.ModelRequest[]
function Model:requests(role)
  return vim.tbl_filter(function(request)
    return role == nil or request.role == role
  end, self:ask({ requests = true }))
end

--- What went wrong so far; forgotten then.
---@return string[]
function Model:take_problems()
  return self:ask({ problems = true })
end

--- Ends it. Nothing, or in words how it was used in another way than scripted, or which reply was never fetched.
---@return string?
function Model:finish()
  self.process.input:shutdown()
  wait.until_true('the end of the scripted model', function()
    return self.process.code
  end)
  if self.process.code ~= 0 then
    return self.process.errors
  end
end

return Model
