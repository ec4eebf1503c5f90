--- MessagePack-RPC over the pipes of an embedded Neovim. Neovim's own channels would do, but a request of theirs waits
--- without a limit when the other side is blocked, and what the other side draws is not shown to scripts.

local wait = require('harness.wait')

---@class harness.Rpc
---@field private process harness.Process
---@field private answers table<integer, { failure: any, result: any }>
---@field private last integer
local Rpc = {}
Rpc.__index = Rpc

--- A state that only a key ends; whoever presses it is in time within this.
local BLOCKED_LIMIT = 2000

local REQUEST, RESPONSE, NOTIFICATION = 0, 1, 2

--- Takes what came out of the other side; notifications are handed on at once.
---@param on_notification fun(method: string, parameters: any[])
---@return harness.Rpc rpc
---@return fun(data: string) feed
function Rpc.new(on_notification)
  local self = setmetatable({ answers = {}, last = 0 }, Rpc)
  -- Buffers, windows and tab pages come as extensions; for tests they are their numbers.
  local function number(_, data)
    return (vim.mpack.decode(data))
  end
  local unpacker = vim.mpack.Unpacker({ ext = { [0] = number, [1] = number, [2] = number } })
  local pending = ''
  local function feed(data)
    pending = pending .. data
    local position = 1
    while position <= #pending do
      local message, after = unpacker(pending, position)
      if message == nil then
        -- The unpacker keeps what it has read of an unfinished message.
        position = #pending + 1
      else
        position = after
        if message[1] == RESPONSE then
          self.answers[message[2]] = { failure = message[3], result = message[4] }
        elseif message[1] == NOTIFICATION then
          on_notification(message[2], message[3])
        end
      end
    end
    pending = ''
  end
  return self, feed
end

---@param process harness.Process
function Rpc:connect(process)
  self.process = process
end

--- Sends a request and goes on; the answer is fetched with its number.
---@param method string
---@return integer
function Rpc:send(method, ...)
  self.last = self.last + 1
  self.process.input:write(vim.mpack.encode({ REQUEST, self.last, method, { ... } }))
  return self.last
end

---@param id integer
---@param what string
---@param limit? integer
---@return any
function Rpc:answer(id, what, limit)
  local answer = wait.until_true('an answer to ' .. what, function()
    if self.process.code then
      error(
        ('Neovim ended with %d before it answered %s: %s'):format(
          self.process.code,
          what,
          self.process.errors
        ),
        0
      )
    end
    return self.answers[id]
  end, limit)
  self.answers[id] = nil
  if answer.failure ~= vim.NIL and answer.failure ~= nil then
    error(('%s: %s'):format(what, type(answer.failure) == 'table' and answer.failure[2] or answer.failure), 0)
  end
  return answer.result ~= vim.NIL and answer.result or nil
end

---@param method string
---@return any
function Rpc:request(method, ...)
  -- Everything but these waits until Neovim does not wait for a key; who asked should know that.
  if method ~= 'nvim_get_mode' and method ~= 'nvim_input' and method ~= 'nvim_ui_attach' then
    local mode = self:request('nvim_get_mode')
    if mode.blocking then
      local what = ('%s (Neovim waits for a key, in mode %s)'):format(method, mode.mode)
      return self:answer(self:send(method, ...), what, BLOCKED_LIMIT)
    end
  end
  return self:answer(self:send(method, ...), method)
end

return Rpc
