-- A day with Reverie, from the first prompt to the Neovim that is opened again, as one user goes through it.

local harness = require('harness')
local user = require('user')

local function memory(name, words)
  return ('---\nname: %s\ndescription: %s\ntype: project\n---\n\n%s.\n'):format(name, words, words)
end

local OPTIONS = {
  files = { ['src/parts.lua'] = 'local one = 1\nlocal two = 2\nlocal three = 3\n' },
  memories = {
    ['deploy-days.md'] = memory('Deploy days', 'We deploy on Fridays only'),
    ['MEMORY.md'] = '- [Deploy days](deploy-days.md) — Fridays only\n',
  },
  init = [[
    vim.o.statusline = '%f %{%v:lua.require("reverie").statusline()%}'
    vim.o.laststatus = 3
    _G.told = {}
    vim.api.nvim_create_autocmd('User', { pattern = 'Reverie*', callback = function(event)
      _G.told[event.match] = (_G.told[event.match] or 0) + 1
    end })
  ]],
}

local function answers(editor)
  editor.model:reply_text(
    '# Greeting\n\nSay it in *one* line:\n\n```lua\nlocal x = 1\n```\n\n- short\n- kind',
    {
      pauses = { { 5, 'half' } },
    }
  )
  editor:open('src/parts.lua')
  user.prompt(editor, 'How do I greet?')
  editor.model:reached('half')
  editor:wait_screen('Greeting')
  editor:wait_screen('answering')
  harness.lacks(editor.screen:text(), 'kind')
  editor.model:open('half')
  editor:wait_screen('- kind')
  editor:wait_gone('answering')
end

local function runs_tools(editor)
  editor.model:reply('tool Bash {"command": "touch made && echo it is made"}')
  editor.model:reply('It is made.')
  user.prompt(editor, 'Make it')
  editor:wait_screen('touch made && echo it is made')
  editor:wait_screen('1  Allow once')
  user.answer(editor, '1')
  editor:wait_screen('It is made.')
  harness.equal(editor:on_disk('made'), '')
  editor:wait_lines('reverie://chat', '    it is made')
end

local function edits(editor)
  local path = editor.workspace .. '/src/parts.lua'
  editor:keys('<Esc>')
  editor:command('wincmd t')
  harness.equal(editor:lua('return vim.fn.expand("%:t")'), 'parts.lua')
  editor:keys('Go-- mine, not saved<Esc>')
  editor.model:reply(('tool Read {"file_path": "%s"}'):format(path))
  editor.model:reply(
    ('tool MultiEdit {"file_path": "%s", "edits": [%s, %s]}'):format(
      path,
      '{"old_string": "local one = 1", "new_string": "local one = 11"}',
      '{"old_string": "local three = 3", "new_string": "local three = 33\\nlocal four = 44"}'
    )
  )
  editor.model:reply('Changed.')
  user.prompt(editor, 'Change it')
  editor:wait_screen('+local four = 44')
  user.answer(editor, '1')
  editor:wait_screen('Changed.')
  local edited =
    { 'local one = 11', 'local two = 2', 'local three = 33', 'local four = 44', '-- mine, not saved' }
  harness.equal(editor:lines('parts.lua'), edited)
  harness.equal(editor:on_disk('src/parts.lua'), OPTIONS.files['src/parts.lua'], 'the user had not saved it')
  editor:wait_screen('2 changed')
  editor:keys('<Esc>')
  editor:command('wincmd t')
  editor:keys('u')
  harness.equal(
    editor:lines('parts.lua'),
    { 'local one = 1', 'local two = 2', 'local three = 3', '-- mine, not saved' },
    'one `u` takes the edit back'
  )
  editor:keys('<C-r>')
  harness.equal(editor:lines('parts.lua'), edited)
  -- One of the two is kept, the other taken back.
  editor:keys('gg:Reverie keep<CR>')
  editor:wait('one hunk less', function()
    return editor:lua([[
      local files = require('reverie.changes').files
      return #files == 2 and files[2].added == 2
    ]])
  end)
  editor:keys('3G:Reverie reject<CR>')
  editor:wait('one file less', function()
    return editor:lua('return #require("reverie.changes").files') == 1
  end)
  harness.equal(
    editor:lines('parts.lua'),
    { 'local one = 11', 'local two = 2', 'local three = 3', '-- mine, not saved' }
  )
  editor:keys(':Reverie keep all<CR>')
  editor:wait_gone('1 changed')
end

local function remembers(editor)
  local path = editor.project .. '/memory/lunch.md'
  local input = vim.json.encode({ file_path = path, content = memory('Lunch', 'Lunch is at noon') })
  editor.model:reply('tool Write ' .. input, { ['for'] = 'extraction' })
  editor.model:reply('Done.', { ['for'] = 'extraction' })
  editor.model:reply('Good to know.')
  user.prompt(editor, 'By the way, lunch is at noon')
  editor:wait_lines('reverie://chat', '◆ Remembered: Lunch')
  editor:wait('the notice', function()
    return editor:messages():find('Remembered: Lunch', 1, true)
  end)
  editor:keys('<Esc>:Reverie memory<CR>')
  editor:wait_screen('Lunch ● new — Lunch is at noon')
  editor:wait_screen('Deploy days')
  editor:keys('/Lunch is at noon<CR><CR>')
  editor:wait('the file', function()
    return editor:lua('return vim.fn.expand("%:t")') == 'lunch.md'
  end)
  editor:keys(':Reverie memory<CR>')
  editor:wait('the list', function()
    return editor:lua('return vim.bo.filetype') == 'reverie-memory'
  end)
  editor:keys('gg/Lunch is at noon<CR>u')
  editor:wait_lines('reverie://chat', 'Remembered: Lunch (taken back)')
  editor:wait('the end of the file', function()
    return vim.uv.fs_stat(path) == nil
  end)
  editor:keys('q')
end

local function recalls(editor)
  -- In two rounds: what is not recalled in time for the first goes with the second, which comes when it was recalled.
  local read = ('tool Read {"file_path": "%s/src/parts.lua"}'):format(editor.workspace)
  editor.model:reply(read, { behind = 'recalled' })
  editor.model:reply('On Fridays.')
  user.prompt(editor, 'On which days do we deploy?')
  editor.model:reached('recalled')
  editor:wait('the recall', function()
    return #editor.model:requests('recall') > 0
  end)
  editor.model:open('recalled')
  editor:wait_screen('On Fridays.')
  editor:wait_screen('1 memory used: Deploy days')
  editor:wait_lines('reverie://chat', 'Deploy days: ')
end

local function dreams(editor)
  editor.model:reply('never', { ['for'] = 'dream', behind = 'dream' })
  editor:keys('<Esc>:Reverie dream<CR>')
  editor.model:reached('dream')
  editor:wait_screen('dreaming')
  editor:keys(':Reverie dream stop<CR>')
  editor:wait_gone('dreaming')
  editor.model:open('dream')

  local path = editor.project .. '/memory/deploy-days.md'
  local better = { file_path = path, content = memory('Deploy days', 'We deploy on Fridays before noon') }
  editor.model:reply(('tool Read {"file_path": "%s"}'):format(path), { ['for'] = 'dream' })
  editor.model:reply('tool Write ' .. vim.json.encode(better), { ['for'] = 'dream' })
  editor.model:reply('- deploy-days.md: says when on a Friday', { ['for'] = 'dream' })
  editor:keys(':Reverie dream<CR>')
  editor:wait('its end', function()
    return editor:messages():find('Dream improved 1 memory', 1, true)
  end)
  editor:keys(':Reverie dream report<CR>')
  editor:wait_screen('says when on a Friday')
  editor:keys('q')
end

local function compacts(editor)
  editor.model:reply('summary We greeted, made a file and changed two parts.', { ['for'] = 'compact' })
  editor:keys(':Reverie compact<CR>')
  editor:wait_lines('reverie://chat', '⇣ ')
  editor:keys(':Reverie context<CR>')
  editor:wait_screen('# Context')
  editor:wait_lines('reverie://context', '**full**')
  editor:keys('q')
end

local function resumes(editor)
  editor:reopen()
  editor:keys(':Reverie resume<CR>')
  editor:wait_lines('reverie://chat', '❯ How do I greet?')
  editor:wait_lines('reverie://chat', '◆ 1 memory used: ')
  editor.model:reply('We go on.')
  user.prompt(editor, 'Go on')
  editor:wait_screen('We go on.')
end

harness.test('a day with Reverie', OPTIONS, function(editor)
  editor.model:always('extraction', 'Nothing.')
  for _, step in ipairs({ answers, runs_tools, edits, remembers, recalls, dreams, compacts }) do
    step(editor)
  end
  local told = editor:lua('return _G.told')
  for _, name in ipairs({
    'TextDelta',
    'ToolEnd',
    'TurnEnd',
    'MemorySaved',
    'MemoryRecalled',
    'Dream',
    'Ask',
    'Server',
  }) do
    harness.equal((told['Reverie' .. name] or 0) > 0, true, 'User Reverie' .. name)
  end
  resumes(editor)
end)
