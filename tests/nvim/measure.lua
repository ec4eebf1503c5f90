-- What the plugin costs, one JSON object a line into REVERIE_FIGURES: `cargo xtask bench nvim` runs this.

local harness = require('harness')
local processes = require('harness.processes')

local RUNS = 20
local CHUNKS = 10000
-- What the scripted model puts into one.
local CHUNK_LETTERS = 16

---@param figures table
local function tell(figures)
  local file = assert(io.open(assert(vim.env.REVERIE_FIGURES, 'REVERIE_FIGURES is where figures go'), 'a'))
  file:write(vim.json.encode(figures), '\n')
  file:close()
end

---@param values number[]
local function median(values)
  table.sort(values)
  return values[math.ceil(#values / 2)]
end

--- How long Neovim took to start, in milliseconds, as it says itself; and how long of that our file took.
---@param editor harness.Editor
---@param arguments string[]
---@return number total
---@return number ours
local function start(editor, arguments)
  local log = editor.folders.root .. '/startuptime'
  vim.fn.delete(log)
  local command =
    vim.list_extend({ vim.v.progpath, '--clean', '--headless', '--startuptime', log }, arguments)
  local environment = { HOME = editor.home, PATH = vim.env.PATH }
  processes.run(vim.list_extend(command, { '+qall!' }), environment)
  local total, ours ---@type number?, number?
  for _, line in ipairs(vim.fn.readfile(log)) do
    total = tonumber(line:match('^(%S+) .*NVIM STARTED')) or total
    ours = tonumber(line:match('^%S+ +%S+ +(%S+): sourcing .*/plugin/reverie%.lua')) or ours
  end
  return assert(total, 'no time in the log'), ours or 0
end

harness.test('start-up', { plugin = false }, function(editor)
  local with, without, more, ours = {}, {}, {}, {}
  local plugin = vim.fn.fnameescape(editor.places.root .. '/nvim')
  -- In turns, so that what else the machine does is in both.
  for run = 1, RUNS do
    without[run] = start(editor, { '--cmd', 'set rtp^=' .. editor.folders.root .. '/run' })
    with[run], ours[run] = start(editor, { '--cmd', 'set rtp^=' .. plugin })
    more[run] = with[run] - without[run]
  end
  assert(median(ours) > 0, 'plugin/reverie.lua was not loaded')
  tell({ what = 'start', more = median(more), without = median(without), ours = median(ours) })
end)

--- A clock in the main loop that ticks each millisecond. `work` is the most that Neovim computed between two ticks,
--- `gap` the longest time between them, in which others may have had the processor.
local CLOCK = [[
  _G.clock = { work = 0, gap = 0, late = 0, ticks = 0, timer = vim.uv.new_timer() }
  local time, used
  clock.timer:start(0, 1, function()
    local now, using = vim.uv.hrtime() / 1e6, os.clock() * 1e3
    local work = used and using - used or 0
    clock.gap = math.max(clock.gap, time and now - time or 0)
    clock.work = math.max(clock.work, work)
    clock.late = clock.late + (work > 16 and 1 or 0)
    clock.ticks = clock.ticks + 1
    time, used = now, using
  end)
]]
local STOPPED = [[
  clock.timer:close()
  return { work = clock.work, gap = clock.gap, late = clock.late, ticks = clock.ticks }
]]
local HEAP = "collectgarbage() collectgarbage() return collectgarbage('count')"

---@param editor harness.Editor
---@return integer # in kB
local function resident(editor)
  local status = table.concat(vim.fn.readfile(('/proc/%d/status'):format(editor.process.pid)), '\n')
  return tonumber(status:match('VmRSS:%s+(%d+)')) --[[@as integer]]
end

--- Words, lists and code, as many letters as make so many chunks.
local function long_answer()
  local paragraph = table.concat({
    'The delay doubles with each attempt, up to a *minute*, and then stays there.',
    '',
    '- first `delay(0)`',
    '- then `delay(1)`',
    '',
    '```rust',
    'fn delay(attempt: u32) -> Duration { Duration::from_secs(1 << attempt) }',
    '```',
    '',
    '',
  }, '\n')
  local letters = CHUNKS * CHUNK_LETTERS
  local ending = '\n\nThat was all.'
  return paragraph:rep(math.ceil(letters / #paragraph)):sub(1, letters - #ending) .. ending
end

--- Streams the answer, all at once or in parts, each of which begins when the one before stands in the chat.
---@param editor harness.Editor
---@param what string
---@param parts integer
local function stream(editor, what, parts)
  editor:open('a.txt')
  editor.model:reply('Hello.')
  editor:keys(':Reverie ask Hello?<CR>')
  editor:wait_screen('Hello.')
  editor:lua(CLOCK)
  editor:wait('a second without work', function()
    return editor:lua('return clock.ticks') > 500
  end)
  local idle = editor:lua(STOPPED)

  local heap, memory = editor:lua(HEAP), resident(editor)
  local pauses = {}
  for part = 1, parts - 1 do
    pauses[part] = { part * CHUNKS / parts, 'part ' .. part }
  end
  editor.model:reply_text(long_answer(), { pauses = #pauses > 0 and pauses or nil })
  editor:lua(CLOCK)
  local began = vim.uv.hrtime()
  editor:keys(':Reverie ask Go on.<CR>')
  local chat, before = editor:buffer('reverie://chat'), 0
  for _, pause in ipairs(pauses) do
    editor.model:reached(pause[2])
    before = editor:wait('the next part', function()
      local now = editor:lua('return vim.b[...].changedtick', chat)
      return now > before and now
    end)
    editor.model:open(pause[2])
  end
  editor:wait_screen('That was all.', 120000)
  local seconds = (vim.uv.hrtime() - began) / 1e9
  local busy = editor:lua(STOPPED)
  tell({
    what = what,
    seconds = seconds,
    work = busy.work,
    gap = busy.gap,
    late = busy.late,
    idle_work = idle.work,
    idle_gap = idle.gap,
    heap = editor:lua(HEAP) - heap,
    memory = resident(editor) - memory,
    text = CHUNKS * CHUNK_LETTERS / 1024,
  })
end

harness.test('10,000 chunks at once', { files = { ['a.txt'] = 'one\n' } }, function(editor)
  stream(editor, 'burst', 1)
end)

harness.test('10,000 chunks, one part after the other', { files = { ['a.txt'] = 'one\n' } }, function(editor)
  stream(editor, 'stream', 500)
end)
