-- The command, its completion, the options, and what is said when there is nothing to do.

local harness = require('harness')
local user = require('user')

for _, command in ipairs({
  'keep',
  'reject',
  'keep all',
  'review',
  'changes',
  'context',
  'compact',
  'stop',
  'answer',
  'memory undo',
  'resume',
  'agents',
}) do
  harness.test(
    (':Reverie %s says something when there is nothing to do'):format(command),
    { files = user.TWO, init = user.INIT },
    function(editor)
      editor:open('a.txt')
      editor:keys(':Reverie ' .. command .. '<CR>')
      editor:wait('words', function()
        return editor:lua('return #_G.told') > 0
      end)
      local words = editor:lua('return _G.told[1]')
      for _, strange in ipairs({ 'sessionId', 'missing field', 'invalid', 'nil', 'lua:' }) do
        harness.lacks(words, strange)
      end
    end
  )
end

harness.test(':Reverie completes its commands and what follows them', { files = user.TWO }, function(editor)
  local function completions(line)
    return editor:lua("return vim.fn.getcompletion(..., 'cmdline')", line)
  end
  local first = completions('Reverie ')
  for _, name in ipairs({
    'chat',
    'ask',
    'stop',
    'resume',
    'sessions',
    'memory',
    'dream',
    'compact',
    'context',
    'agents',
    'model',
    'doctor',
  }) do
    harness.equal(vim.list_contains(first, name), true, name)
  end
  harness.equal(completions('Reverie mem'), { 'memory' })
  harness.equal(completions('Reverie memory s'), { 'search' })
  harness.equal(completions('Reverie memory '), { 'search', 'lint', 'undo', 'history' })
  harness.equal(completions('Reverie dream st'), { 'stop', 'status' })
  harness.equal(completions('Reverie memory search '), {}, 'words of a search are no commands')
  harness.equal(completions("'<,'>Reverie as"), { 'ask' })
  harness.equal(completions('Reverie nonsense '), {})
end)

harness.test(
  'models and conversations are completed, once the server runs',
  { files = user.TWO, init = user.INIT },
  function(editor)
    local function completions(line)
      return editor:lua("return vim.fn.getcompletion(..., 'cmdline')", line)
    end
    user.quiet(editor)
    harness.equal(completions('Reverie model '), {})
    editor:open('a.txt')
    user.answered(editor)
    editor:keys('<C-\\><C-n>')
    harness.contains(table.concat(completions('Reverie model '), ' '), 'claude-')
    local session = editor:lua('return require("reverie.chat").current().session')
    harness.equal(completions('Reverie resume ' .. session:sub(1, 4)), { session })
    editor:keys(':Reverie sessions nonsense<CR>')
    user.wait_told(editor, 'no conversation has "nonsense" in its title')
  end
)

harness.test(
  'more conversations than fit on a page are a choice away',
  { files = user.TWO, init = user.INIT },
  function(editor)
    editor:lua([[
    require('reverie.client').ask = function(_, params, done)
      local session = { sessionId = params.cursor or 'new', title = params.cursor or 'new', updatedAt = '2026-01-01T00:00:00Z' }
      done({ sessions = { session }, nextCursor = not params.cursor and 'old' or nil })
    end
    require('reverie.sessions').list()
  ]])
    harness.equal(editor:lua('return _G.asked[1].names[2]'), 'Older ones …')
    editor:lua('_G.choose(2)')
    harness.equal(#editor:lua('return _G.asked[2].names'), 1)
    harness.contains(editor:lua('return _G.asked[2].names[1]'), 'old')
  end
)

harness.test('times are right on both sides of a change of the clocks', {
  environment = { TZ = 'EST5EDT,M3.2.0,M11.1.0' },
}, function(editor)
  for _, case in ipairs({
    { '2026-01-15T12:00:00Z', 1768478400, '2026-01-15 07:00' },
    { '2026-07-15T12:00:00.123Z', 1784116800, '2026-07-15 08:00' },
    { '2024-02-29T23:59:59Z', 1709251199, '2024-02-29 18:59' },
  }) do
    local TIMES = "local when = require('reverie.when') return { when.seconds(...), when.moment(...) }"
    harness.equal(editor:lua(TIMES, case[1]), { case[2], case[3] })
  end
end)

harness.test('what the plug-in tells asks for no ENTER without a line for messages', {
  files = user.TWO,
  init = 'vim.o.cmdheight = 0',
}, function(editor)
  user.quiet(editor)
  editor:open('a.txt')
  editor:keys(':Reverie stop<CR>')
  editor:keys('ityped<Esc>')
  editor:wait_lines('a.txt', 'typed')
  editor.model:reply_tool('Bash', { command = 'touch x' })
  editor.model:reply('Over.')
  editor:keys(':Reverie ask make x<CR>')
  editor:wait_screen('1  Allow once')
  editor:keys('omore<Esc>')
  editor:wait_lines('a.txt', 'more')
  editor:keys(':Reverie answer<CR>')
  user.answer(editor, '1')
  editor:wait_screen('Over.')
  harness.lacks(editor:text(), 'ENTER')
end)

harness.test(
  'what Reverie shows leaves the options of windows as they are for the files that they show later',
  { files = user.TWO, memories = { ['MEMORY.md'] = '' }, init = user.INIT .. 'vim.o.wrap = false' },
  function(editor)
    editor:open('a.txt')
    editor:keys(':Reverie memory<CR>')
    editor:wait('the list', function()
      return editor:lua('return vim.bo.filetype') == 'reverie-memory'
    end)
    harness.equal(editor:lua('return vim.wo.wrap and vim.wo.cursorline'), true)
    editor:command('edit b.txt')
    harness.equal(
      editor:lua('return { vim.wo.wrap, vim.wo.linebreak, vim.wo.cursorline, vim.wo.foldenable }'),
      { false, false, false, true }
    )
  end
)

harness.test(
  'a command that is none is told, with those that are',
  { files = user.TWO, init = user.INIT },
  function(editor)
    editor:command('Reverie nonsense')
    user.wait_told(editor, 'nonsense')
    user.wait_told(editor, 'memory')
  end
)

harness.test(
  'a mode or model that is none is refused in words, and not shown as if it was one',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    user.answered(editor)
    editor:keys('<C-\\><C-n>:Reverie mode nonsense<CR>')
    user.wait_told(editor, 'nonsense')
    harness.equal(editor:lua('return require("reverie.chat").current().mode'), 'default')
    harness.lacks(editor.screen:text(), '◆ nonsense')
  end
)

harness.test(
  'a mode that is none is refused before there is a conversation too',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor:command('Reverie mode nonsense')
    editor.model:reply('It works all the same.')
    user.prompt(editor, 'Hello')
    editor:wait_screen('It works all the same.')
    user.wait_told(editor, 'nonsense')
  end
)

harness.test(
  'a question about selected lines sends them, and names them in the chat',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor.model:reply('Two and three.')
    editor:keys('2GVj:Reverie ask what are these?<CR>')
    editor:wait_screen('Two and three.')
    editor:wait_screen('@a.txt:2-3')
    local last = editor.model:requests('main')[1].last
    harness.contains(last, 'two')
    harness.contains(last, 'three')
    harness.lacks(last, 'seven')
    harness.equal(editor:lua('return vim.fn.expand("%:t")'), 'a.txt', 'the user stays in the file')
  end
)

harness.test(
  'a question about lines that are not saved sends them as they are',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    editor:keys('onot saved yet<Esc>')
    editor.model:reply('Seen.')
    editor:keys(':2Reverie ask what is this?<CR>')
    editor:wait_screen('Seen.')
    harness.contains(editor.model:requests('main')[1].last, 'not saved yet')
  end
)

harness.test(
  'what is asked in the box goes with the file that the user came from',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('b.txt')
    editor:command('vsplit a.txt')
    editor.model:reply('Seen.')
    user.prompt(editor, 'What is this?')
    editor:wait_screen('Seen.')
    harness.contains(editor.model:requests('main')[1].last, '/a.txt open in the editor')
    editor:keys('<C-\\><C-n>')
    editor:command('wincmd t')
    editor:command('wincmd l')
    editor.model:reply('And that.')
    user.prompt(editor, 'And this?')
    editor:wait_screen('And that.')
    harness.contains(editor.model:requests('main')[2].last, '/b.txt open in the editor')
  end
)

harness.test(
  'a question about some words of a line says which',
  { files = { ['a.txt'] = 'one é two three\n' }, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor:open('a.txt')
    editor.model:reply('A number.')
    editor:keys('0wwve:Reverie ask what is this?<CR>')
    editor:wait_screen('A number.')
    harness.contains(editor.model:requests('main')[1].last, 'They have selected, in lines 1 to 1:\ntwo\n')
  end
)

harness.test('paths are shown from the folder of the server, and open from there', {
  files = { ['src/deep/a.txt'] = 'deep\n', ['b.txt'] = 'b\n' },
  init = user.INIT,
}, function(editor)
  user.quiet(editor)
  editor.model:always('main', 'See `src/deep/a.txt`.')
  editor:open('b.txt')
  user.answered(editor)
  editor:keys('<C-\\><C-n>')
  editor:command('wincmd t')
  editor:command('cd src')
  editor:open('deep/a.txt')
  editor:keys(':1Reverie ask what is this?<CR>')
  editor:wait_screen('@src/deep/a.txt:1-1')
  editor:open(editor.workspace .. '/b.txt')
  editor:keys(':Reverie chat<CR>')
  user.box(editor)
  editor:keys('<C-\\><C-n><C-w>k/@src.deep<CR><CR>')
  editor:wait('the file', function()
    return editor:lua('return vim.fn.expand("%:p")') == editor.workspace .. '/src/deep/a.txt'
  end)
  editor:lua([[vim.fn.writefile({ 'mine' }, vim.env.HOME .. '/own.txt')]])
  harness.equal(
    editor:lua("return select(2, require('reverie.chat.prompt').mentions('see @~/own.txt'))"),
    { '~/own.txt' }
  )
end)

harness.test('files are mentioned by the folder of the server, whatever autochdir does', {
  files = { ['src/deep/a.txt'] = 'deep\n', ['top.txt'] = 'the very top\n' },
  init = user.INIT .. 'vim.o.autochdir = true',
}, function(editor)
  user.quiet(editor)
  editor:open('top.txt')
  user.answered(editor)
  editor:keys('<C-\\><C-n>')
  editor:command('wincmd t')
  editor:open('src/deep/a.txt')
  editor.model:reply('Read.')
  user.prompt(editor, 'Look at @top.txt please')
  editor:wait_screen('Read.')
  local requests = editor.model:requests('main')
  harness.contains(requests[#requests].last, 'the very top')
end)

local WRONG = {
  { "{ window = { position = 'middle' } }", 'window.position' },
  { '{ window = { size = -1 } }', 'window.size' },
  { '{ window = 3 }', 'window' },
  { '{ widnow = {} }', 'widnow' },
  { '{ window = { prompt_height = 4.5 } }', 'window.prompt_height' },
  { '{ exit_timeout = -1 }', 'exit_timeout' },
  { '{ keys = { send = 7 } }', 'keys.send' },
  { '{ server = { path = {} } }', 'server.path' },
  { "{ save = 'yes' }", 'save' },
  { "'right'", 'table' },
}

for _, case in ipairs(WRONG) do
  harness.test(
    ('the option %s is refused in words by setup, and by vim.g.reverie'):format(case[1]),
    { files = user.TWO, init = user.INIT },
    function(editor)
      editor:lua(("require('reverie').setup(%s)"):format(case[1]))
      user.wait_told(editor, case[2])
      editor:lua(("_G.told = {} vim.g.reverie = %s require('reverie').setup()"):format(case[1]))
      user.wait_told(editor, case[2])
      editor:keys(':Reverie chat<CR>')
      user.box(editor)
    end
  )
end

harness.test('options that are wrong do not hold up the start, and are told in one line', {
  init = "require('reverie').setup({ window = { position = 'middle', size = 'big' }, sever = {} })",
  width = 80,
  height = 24,
}, function(editor)
  editor:wait_screen('Reverie: 3 options are wrong (:checkhealth reverie): ')
  harness.lacks(editor:text(), 'ENTER')
  editor:keys(':Reverie chat<CR>')
  user.box(editor)
end)

harness.test('all <Plug> mappings work, and with a visual selection', {
  files = user.TWO,
  init = user.INIT .. [[
  vim.keymap.set('n', '<Space>c', '<Plug>(reverie-chat)')
  vim.keymap.set('x', '<Space>a', '<Plug>(reverie-ask)')
]],
}, function(editor)
  user.quiet(editor)
  editor:open('a.txt')
  editor:keys('2GVj<Space>a')
  editor:wait('the question', function()
    return editor:lua('return _G.input')
  end)
  harness.contains(editor:lua('return _G.input'), 'a.txt:2-3')
  editor.model:reply('These are numbers.')
  editor:lua("_G.enter('what?')")
  editor:wait_screen('These are numbers.')
  editor:keys('<Space>c')
  user.box(editor)
end)

harness.test(
  'the help of the chat is one key away, also where no tags were made for it',
  { files = user.TWO, height = 40 },
  function(editor)
    editor:open('a.txt')
    editor:keys(':Reverie chat<CR>')
    user.box(editor)
    editor:keys('<C-\\><C-n>g?')
    editor:wait_screen('Keys of the conversation:')
    harness.equal(editor:lua('return { vim.bo.filetype, vim.bo.modifiable }'), { 'help', false })
  end
)

harness.test(
  'what is shown takes the place of what was shown before, and the list of memories keeps its own',
  { files = user.TWO, height = 40 },
  function(editor)
    editor:open('a.txt')
    editor:keys(':Reverie doctor<CR>')
    editor:wait_screen('version: reverie')
    editor:keys(':Reverie dream status<CR>')
    editor:wait_screen('No dream is running.')
    user.wait_windows(editor, { 'a.txt', 'dream' })
    editor:keys(':Reverie memory<CR>')
    editor:wait_screen('Nothing is remembered yet.')
    editor:keys(':Reverie doctor<CR>')
    editor:wait_screen('version: reverie')
    user.wait_windows(editor, { 'a.txt', 'doctor', 'memory' })
  end
)

harness.test('a server that is missing is told once, however often it is tried', {
  files = user.TWO,
  server = '',
}, function(editor)
  editor:open('a.txt')
  editor:keys(':Reverie chat<CR>')
  editor:wait_lines('reverie://chat', 'is not on the PATH')
  for _ = 1, 2 do
    user.box(editor)
    editor:type('hello')
    editor:keys('<C-s>')
    editor:wait_lines('reverie://prompt', 'hello')
    editor:keys('<C-u>')
  end
  local text = table.concat(editor:lines('reverie://chat'), '\n')
  local _, count = text:gsub('is not on the PATH', '')
  harness.equal(count, 1)
end)

harness.test('a server that is started anew says so', { files = user.TWO, init = user.INIT }, function(editor)
  editor:open('a.txt')
  editor:keys(':Reverie restart<CR>')
  user.wait_told(editor, 'started anew')
end)

harness.test(
  'remember from a file says that it is remembered, and where it belongs',
  { files = user.TWO, init = user.INIT },
  function(editor)
    user.quiet(editor)
    editor.model:always('main', 'Remembered.')
    editor:open('a.txt')
    editor:keys(':2,3Reverie remember these are numbers<CR>')
    editor:wait('a memory', function()
      return #vim.fn.glob(editor.project .. '/memory/*.md', true, true) > 0
    end)
    editor:keys(':Reverie memory<CR>')
    editor:wait_lines('reverie://memory', 'hese are numbers')
  end
)

harness.test(
  'who types on behind an @ gets what was typed, with the offers shown beside',
  { files = user.TWO, init = user.INIT },
  function(editor)
    editor:open('a.txt')
    editor:keys(':Reverie chat<CR>')
    user.box(editor)
    editor:type('see @')
    editor:wait('the offers', function()
      return editor:lua('return vim.fn.pumvisible()') == 1
    end)
    harness.equal(editor:lines('reverie://prompt'), { 'see @' }, 'nothing is put in unasked')
    editor:type('b.txt and')
    editor:wait_lines('reverie://prompt', ' and')
    harness.equal(editor:lines('reverie://prompt'), { 'see @b.txt and' })
  end
)

harness.test(
  'an offer behind an @ is chosen with <C-n> and <C-y>',
  { files = user.TWO, init = user.INIT },
  function(editor)
    editor:open('a.txt')
    editor:keys(':Reverie chat<CR>')
    user.box(editor)
    editor:type('see @')
    editor:wait('the offers', function()
      return editor:lua('return vim.fn.pumvisible()') == 1
    end)
    editor:keys('<C-n><C-y>')
    editor:wait('a whole name', function()
      return vim.list_contains({ 'see @a.txt', 'see @b.txt' }, editor:lines('reverie://prompt')[1])
        and editor:lua('return vim.fn.pumvisible()') == 0
    end)
  end
)

harness.test('files with a space, and hidden ones, are offered and mentioned', {
  files = { ['my file.txt'] = 'spaced\n', ['.gitignore'] = 'target\n', ['.github/ci.yml'] = 'on: push\n' },
  init = user.INIT,
}, function(editor)
  local function words(typed)
    return editor:lua(
      "return vim.tbl_map(function(one) return one.word end, require('reverie.chat.prompt').files(...))",
      typed
    )
  end
  local hidden = words('.gi')
  table.sort(hidden)
  harness.equal(hidden, { '@.github/', '@.gitignore' })
  harness.equal(words('my f'), { '@my\\ file.txt' })
  user.quiet(editor)
  editor:keys(':Reverie chat<CR>')
  user.box(editor)
  editor:type('see @my')
  editor:wait('the offer', function()
    return editor:lua('return vim.fn.pumvisible()') == 1
  end)
  editor:keys('<C-n><C-y>')
  editor:wait_lines('reverie://prompt', 'see @my\\ file.txt')
  editor:type(' please')
  editor.model:reply('Seen.')
  editor:keys('<C-s>')
  editor:wait_screen('Seen.')
  harness.contains(editor.model:requests('main')[1].last, 'spaced')
end)
