--- What a conversation is and how each thing that happens changes it. Knows no buffer and no window: `view` shows it.
---
--- The pieces stand in the order in which they are shown; what waits for its turn stands behind all that happens.

---@class reverie.Block
---@field kind 'user'|'text'|'thinking'|'tool'|'notice'|'context'|'plan'|'memory'|'todo'|'end'
---@field turn? string
---@field uuid? string Of the message in the transcript: what a rewind or a fork takes.
---@field parts? string[] Its words; more may come while it is streaming.
---@field streaming? boolean
---@field queued? boolean A prompt that waits.
---@field unheard? boolean A prompt of which the server has not said that it has it.
---@field joined? boolean A prompt that went into a turn that ran already.
---@field recalled? reverie.MemoryEventFile[]
---@field mentions? string[]
---@field id? string Of a tool call.
---@field tool? string
---@field input? any
---@field state? 'running'|'done'|'failed'|'stopped'
---@field progress? string
---@field display? reverie.ToolDisplay
---@field level? string Of a notice.
---@field change? reverie.Update.context
---@field event? reverie.MemoryEventKind
---@field by? reverie.MemoryActor
---@field files? reverie.MemoryEventFile[]
---@field undone? boolean
---@field todos? reverie.TodoItem[]
---@field reason? reverie.StopReason

--- What a view has to do to be right again.
---@class reverie.Change
---@field op 'insert'|'remove'|'touch'
---@field at? integer
---@field block? reverie.Block

---@class reverie.Conversation
---@field session? string
---@field title string
---@field model? string
---@field mode string
---@field blocks reverie.Block[]
---@field turn? {id?: string, phase: string, detail?: string}
---@field usage? reverie.Update.usage
---@field next_seq integer -1 where any will do.
---@field changes reverie.Change[]
local Conversation = {}
Conversation.__index = Conversation

--- The tail of what a tool says while it runs is what people look at.
local PROGRESS_BYTES = 8000

---@return reverie.Conversation
function Conversation.new()
  return setmetatable({
    title = '',
    mode = 'default',
    blocks = {},
    next_seq = -1,
    changes = {},
  }, Conversation)
end

--- The words of a block, in one piece.
---@param block reverie.Block
---@return string
function Conversation.text(block)
  return table.concat(block.parts or {})
end

---@param block reverie.Block
---@return reverie.Block
function Conversation:push(block)
  local at = #self.blocks + 1
  if not block.queued then
    while at > 1 and self.blocks[at - 1].queued do
      at = at - 1
    end
  end
  table.insert(self.blocks, at, block)
  self.changes[#self.changes + 1] = { op = 'insert', at = at, block = block }
  return block
end

---@param block reverie.Block
---@return boolean # whether it was there
function Conversation:remove(block)
  for at = #self.blocks, 1, -1 do
    if self.blocks[at] == block then
      table.remove(self.blocks, at)
      self.changes[#self.changes + 1] = { op = 'remove', at = at }
      return true
    end
  end
  return false
end

---@param block reverie.Block
function Conversation:touch(block)
  local last = self.changes[#self.changes]
  if not (last and last.op == 'touch' and last.block == block) then
    self.changes[#self.changes + 1] = { op = 'touch', block = block }
  end
end

---@return reverie.Change[]
function Conversation:take_changes()
  local changes = self.changes
  self.changes = {}
  return changes
end

---@param fits fun(block: reverie.Block): boolean
---@return reverie.Block?
function Conversation:last(fits)
  for at = #self.blocks, 1, -1 do
    if fits(self.blocks[at]) then
      return self.blocks[at]
    end
  end
end

--- The last block that is not a prompt in waiting.
---@return reverie.Block?
function Conversation:tail()
  return self:last(function(block)
    return not block.queued
  end)
end

--- What was streaming is complete.
function Conversation:settle()
  for at = #self.blocks, 1, -1 do
    local block = self.blocks[at]
    if block.streaming then
      block.streaming = false
      block.parts = { Conversation.text(block) }
      self:touch(block)
    elseif block.kind == 'user' and not block.queued then
      return
    end
  end
end

---@param kind 'text'|'thinking'
---@param text string
---@param turn? string
function Conversation:stream(kind, text, turn)
  local tail = self:tail()
  if not (tail and tail.kind == kind and tail.streaming) then
    self:settle()
    tail = self:push({ kind = kind, turn = turn, parts = {}, streaming = true })
  end
  table.insert(assert(tail.parts), text)
  self:touch(tail)
end

--- The words that the user has sent, before the server has them.
---@param text string
---@param mentions string[]
---@return reverie.Block
function Conversation:say(text, mentions)
  return self:push({
    kind = 'user',
    parts = { text },
    mentions = mentions,
    queued = self.turn ~= nil,
    unheard = true,
  })
end

--- The server has them.
---@param block reverie.Block
---@param turn string
---@param queued boolean
function Conversation:accepted(block, turn, queued)
  block.turn = turn
  block.unheard = nil
  if not queued then
    self:begin(block)
  end
end

--- A prompt that waited does not wait any more: it comes behind what has happened so far.
---@param block reverie.Block
function Conversation:begin(block)
  if block.queued then
    self:remove(block)
    block.queued = false
    self:push(block)
  end
  if not self.turn then
    self.turn = { id = block.turn, phase = 'waiting' }
  end
end

---@param turn? string
---@return reverie.Block?
function Conversation:prompt_of(turn)
  return turn and self:last(function(block)
    return block.kind == 'user' and block.turn == turn
  end)
end

---@param turn? string
---@param phase string
---@param detail? string
function Conversation:enter(turn, phase, detail)
  local prompt = self:prompt_of(turn)
  if prompt and prompt.queued then
    self:begin(prompt)
  end
  if turn then
    self.turn = { id = turn, phase = phase, detail = detail }
  end
end

---@param id string
---@param change fun(block: reverie.Block)
function Conversation:tool(id, change)
  local call = self:last(function(block)
    return block.kind == 'tool' and block.id == id
  end)
  if call then
    change(call)
    self:touch(call)
  end
end

---@type table<string, fun(self: reverie.Conversation, update: any, turn?: string)>
local on = {}

function on.textDelta(self, update, turn)
  self:enter(turn, 'answering')
  self:stream('text', update.text, turn)
end

function on.thinkingDelta(self, update, turn)
  self:enter(turn, 'thinking')
  self:stream('thinking', update.text, turn)
end

function on.toolStart(self, update, turn)
  self:enter(turn, 'working')
  self:settle()
  self:push({
    kind = 'tool',
    turn = turn,
    id = update.toolUseId,
    tool = update.tool,
    input = update.input,
    state = 'running',
    progress = '',
  })
end

function on.toolProgress(self, update)
  self:tool(update.toolUseId, function(block)
    block.progress = (block.progress .. update.text):sub(-PROGRESS_BYTES)
  end)
end

function on.toolEnd(self, update, turn)
  self:enter(turn, 'waiting')
  self:tool(update.toolUseId, function(block)
    block.state = update.ok and 'done' or 'failed'
    block.display = update.display
  end)
end

function on.usage(self, update)
  self.usage = update
end

function on.context(self, update, turn)
  self:push({ kind = 'context', turn = turn, change = update })
end

function on.retry(self, update, turn)
  self:enter(turn, 'retrying', update.reason)
  local tail = update.discard and self:tail()
  while tail and tail.streaming do
    self:remove(tail)
    tail = self:tail()
  end
end

function on.notice(self, update, turn)
  self:push({ kind = 'notice', turn = turn, level = update.level, parts = { update.text } })
end

function on.todo(self, update, turn)
  local list = self:last(function(block)
    return block.kind == 'todo' and block.turn == turn
  end)
  if list then
    list.todos = update.items
    self:touch(list)
  else
    self:push({ kind = 'todo', turn = turn, todos = update.items })
  end
end

function on.plan(self, update, turn)
  self:settle()
  self:push({ kind = 'plan', turn = turn, parts = { update.text } })
end

function on.title(self, update)
  self.title = update.title
end

function on.joined(self, _, turn)
  local prompt = self:prompt_of(turn)
  if prompt then
    self:begin(prompt)
    prompt.joined = true
  end
end

function on.configured(self, update)
  self.model = update.model or self.model
  self.mode = update.mode or self.mode
end

function on.turnEnd(self, update, turn)
  self:settle()
  local prompt = self:prompt_of(turn)
  if prompt then
    prompt.uuid = update.promptUuid or prompt.uuid
  end
  local answer = self:last(function(block)
    return block.kind == 'text' and block.turn == turn
  end)
  if answer then
    answer.uuid = update.messageUuid
  end
  if prompt and prompt.joined then
    return
  end
  if not self.turn or self.turn.id == turn then
    self:halt()
  end
  if update.stopReason ~= 'endTurn' then
    local words = update.error and { update.error.message } or {}
    self:push({ kind = 'end', turn = turn, reason = update.stopReason, parts = words })
  end
  local next_prompt = self.blocks[#self.blocks]
  for _, block in ipairs(self.blocks) do
    if block.queued and block.turn then
      next_prompt = block
      break
    end
  end
  if next_prompt and next_prompt.queued and not self.turn then
    self:begin(next_prompt)
  end
end

--- Nothing runs any more.
function Conversation:halt()
  self.turn = nil
  for _, block in ipairs(self.blocks) do
    if block.kind == 'tool' and block.state == 'running' then
      block.state = 'stopped'
      self:touch(block)
    end
  end
end

--- Whether an update comes too late or too early: the session has to be opened anew.
---@param params reverie.SessionUpdateParams
---@return boolean
function Conversation:is_out_of_step(params)
  return self.next_seq >= 0 and params.seq ~= self.next_seq
end

---@param params reverie.SessionUpdateParams
function Conversation:update(params)
  self.next_seq = params.seq + 1
  local effect = on[params.update.kind]
  if effect then
    effect(self, params.update, params.turnId)
  end
end

---@param params reverie.MemoryEventParams
function Conversation:memory(params)
  if params.kind == 'recalled' then
    local prompt = self:prompt_of(params.turnId)
      or self:last(function(block)
        return block.kind == 'user' and not block.queued
      end)
    if prompt and params.sessionId == self.session then
      prompt.recalled = vim.list_extend(prompt.recalled or {}, params.files)
      self:touch(prompt)
    end
  elseif params.kind == 'undone' then
    self:undone(params.files)
  elseif params.kind ~= 'stale' and (params.sessionId == nil or params.sessionId == self.session) then
    self:push({ kind = 'memory', event = params.kind, by = params.by, files = params.files })
  end
end

---@param files reverie.MemoryEventFile[]
function Conversation:undone(files)
  local paths = {}
  for _, file in ipairs(files) do
    paths[file.path] = true
  end
  local told = self:last(function(block)
    return block.kind == 'memory' and not block.undone and paths[assert(block.files)[1].path] == true
  end)
  if told then
    told.undone = true
    self:touch(told)
  end
end

--- The server is gone: what ran does not run, and what waited was never said.
---@return string[] # what was not said
function Conversation:interrupted()
  self.next_seq = -1
  self:settle()
  self:halt()
  local unsaid = vim.tbl_filter(function(block)
    return block.queued == true or block.unheard == true
  end, self.blocks)
  for _, block in ipairs(unsaid) do
    self:remove(block)
  end
  return vim.tbl_map(Conversation.text, unsaid)
end

---@param messages reverie.SessionMessage[]
---@return reverie.Block[]
local function from_transcript(messages)
  local blocks, calls, prompt = {}, {}, nil
  local function add(block)
    blocks[#blocks + 1] = block
    return block
  end
  for _, message in ipairs(messages) do
    local kind = message.kind
    if kind == 'toolUse' then
      calls[message.toolUseId or ''] = add({
        kind = 'tool',
        id = message.toolUseId,
        tool = message.tool or message.text,
        input = message.input,
        state = 'stopped',
      })
    elseif kind == 'toolResult' then
      local call = calls[message.toolUseId or '']
      if call then
        call.state = message.ok == false and 'failed' or 'done'
        call.display = message.display or { kind = 'text', text = message.text }
      end
    elseif kind == 'attachment' then
      if message.recalled and prompt then
        prompt.recalled = prompt.recalled or {}
        table.insert(prompt.recalled, message.recalled)
      end
    elseif kind == 'notice' or message.role == 'system' then
      add({ kind = 'notice', level = 'info', parts = { message.text } })
    elseif kind == 'thinking' then
      add({ kind = 'thinking', parts = { message.text } })
    elseif message.role == 'user' then
      prompt = add({ kind = 'user', uuid = message.uuid, parts = { message.text } })
    else
      add({ kind = 'text', uuid = message.uuid, parts = { message.text } })
    end
  end
  return blocks
end

--- What has just been said, and the server has not yet, stays.
---@param result reverie.ResumeSessionResult
function Conversation:resumed(result)
  local unheard = vim.tbl_filter(function(block)
    return block.unheard == true
  end, self.blocks)
  self.changes, self.next_seq = {}, -1
  self.session = result.sessionId
  self.title = result.title or ''
  self.model = result.model or self.model
  self.mode = result.mode or self.mode
  self.blocks = from_transcript(result.messages)
  self.turn = result.runningTurnId and { id = result.runningTurnId, phase = 'waiting' }
  for _, repair in ipairs(result.repairs) do
    table.insert(self.blocks, { kind = 'notice', level = 'warning', parts = { repair } })
  end
  if result.todos and #result.todos > 0 then
    table.insert(self.blocks, { kind = 'todo', todos = result.todos })
  end
  vim.list_extend(self.blocks, unheard)
end

--- What was said before a compaction, to be shown before all the rest.
---@param messages reverie.SessionMessage[]
function Conversation:earlier(messages)
  for at, block in ipairs(from_transcript(messages)) do
    table.insert(self.blocks, at, block)
    self.changes[#self.changes + 1] = { op = 'insert', at = at, block = block }
  end
end

return Conversation
