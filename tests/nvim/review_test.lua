-- What is remembered, and what was changed: listed, opened, kept and taken back.

local harness = require('harness')
local user = require('user')

local function memory(name, words)
  return ('---\nname: %s\ndescription: %s\ntype: project\n---\n\n%s.\n'):format(name, words, words)
end

local MEMORIES = {
  ['deploy.md'] = memory('Deploy days', 'We deploy on Fridays'),
  ['lunch.md'] = memory('Lunch', 'Lunch is at noon'),
  ['MEMORY.md'] = '- [Deploy days](deploy.md) — Fridays\n- [Lunch](lunch.md) — noon\n',
}

harness.test('a memory is opened from the list into the window of the file, not into the list or the chat', {
  files = user.TWO,
  memories = MEMORIES,
  init = user.INIT,
}, function(editor)
  user.quiet(editor)
  editor:open('a.txt')
  user.answered(editor)
  editor:keys('<C-\\><C-n>:Reverie memory<CR>')
  editor:wait_screen('Deploy days')
  editor:keys('/Lunch is<CR><CR>')
  editor:wait('the file', function()
    return editor:lua('return vim.fn.expand("%:t")') == 'lunch.md'
  end)
  user.wait_windows(editor, { 'chat', 'lunch.md', 'memory', 'prompt' })
end)

harness.test(
  'a memory is deleted after a question, and comes back with undo',
  { files = user.TWO, memories = MEMORIES, init = user.INIT },
  function(editor)
    editor:open('a.txt')
    editor:keys(':Reverie memory<CR>')
    editor:wait_screen('Deploy days')
    editor:keys('/Lunch is<CR>d')
    editor:wait('the question', function()
      return editor:lua('return _G.choose ~= nil')
    end)
    harness.contains(editor:lua('return _G.asked[1].prompt'), 'Lunch')
    editor:lua('_G.choose(1)')
    editor:wait('the end of the file', function()
      return vim.uv.fs_stat(editor.project .. '/memory/lunch.md') == nil
    end)
    editor:wait('the list without it', function()
      return not table.concat(editor:lines('reverie://memory'), '\n'):find('Lunch', 1, true)
    end)
    editor:keys(':Reverie memory undo<CR>')
    editor:wait('the file again', function()
      return vim.uv.fs_stat(editor.project .. '/memory/lunch.md') ~= nil
    end)
    editor:wait_lines('reverie://memory', 'Lunch is at noon')
  end
)

harness.test(
  'the cursor stays on its memory when the list is drawn anew',
  { files = user.TWO, memories = MEMORIES, init = user.INIT },
  function(editor)
    editor:open('a.txt')
    editor:keys(':Reverie memory<CR>')
    editor:wait_screen('Deploy days')
    editor:keys('/Lunch is<CR>')
    editor:wait('the cursor', function()
      return editor:lua('return vim.api.nvim_get_current_line()'):find('Lunch is', 1, true)
    end)
    -- Above it, so that its line is another one now.
    local path = editor.project .. '/memory/'
    vim.fn.writefile(vim.split(memory('Breakfast', 'Breakfast is at eight'), '\n'), path .. 'a.md')
    editor:keys('r')
    editor:wait_lines('reverie://memory', 'Breakfast is at eight')
    harness.contains(editor:lua('return vim.api.nvim_get_current_line()'), 'Lunch is')
  end
)

harness.test(
  'the last change comes back with what was changed with it, and of one memory only its own',
  { files = user.TWO, init = user.INIT },
  function(editor)
    local undone = editor:lua([[
      local client = require('reverie.client')
      local undone = {}
      client.ask = function(method, params, done)
        if method == 'reverie/memory/undo' then
          table.insert(undone, params)
        else
          done({ changes = { { id = params.path or 'last', at = '2026-01-01T00:00:00Z', by = 'user', why = 'x' } } })
        end
      end
      require('reverie.memory').undo()
      require('reverie.memory').undo('one.md')
      return undone
    ]])
    harness.equal(undone, {
      { changeId = 'last', together = true },
      { changeId = 'one.md', together = false },
    })
  end
)

harness.test('a memory with changes that are not saved is opened as it is', {
  files = user.TWO,
  memories = MEMORIES,
  init = user.INIT,
}, function(editor)
  editor:open('a.txt')
  for _ = 1, 2 do
    editor:keys(':Reverie memory<CR>')
    editor:wait('the list', function()
      return editor:lua('return vim.bo.filetype') == 'reverie-memory'
    end)
    editor:keys('gg/Lunch is<CR><CR>')
    editor:wait('the file', function()
      return editor:lua('return vim.fn.expand("%:t")') == 'lunch.md'
    end)
    editor:keys('Gomine<Esc>')
  end
  harness.equal(editor:lua('return _G.told'), {})
  harness.equal(vim.list_slice(editor:lines('lunch.md'), 7), { 'Lunch is at noon.', 'mine', 'mine' })
end)

harness.test('memories are searched and linted', {
  files = user.TWO,
  memories = {
    ['MEMORY.md'] = '- [Gone](gone.md) — gone\n',
    ['lunch.md'] = memory('Lunch', 'Lunch is at noon'),
  },
  init = user.INIT,
}, function(editor)
  editor:open('a.txt')
  editor:keys(':Reverie memory search noon<CR>')
  editor:wait('the hits', function()
    return editor:lua('return #_G.asked') == 1
  end)
  harness.contains(editor:lua('return _G.asked[1].names[1]'), 'lunch.md')
  editor:lua('_G.choose(1)')
  harness.equal(editor:lua('return vim.fn.expand("%:t")'), 'lunch.md')
  editor:keys(':Reverie memory lint<CR>')
  editor:wait('the findings', function()
    return editor:lua('return #vim.fn.getqflist()') > 0
  end)
  harness.contains(vim.inspect(editor:lua('return vim.fn.getqflist()')), 'gone.md')
  -- Without the folder, which is long and always the same.
  editor:wait_screen('\nMEMORY.md|1| ')
end)

harness.test('versions of a memory that the grammar of Markdown cannot take are shown plain', {
  files = user.TWO,
  init = user.INIT,
}, function(editor)
  editor:lua("require('reverie.review').texts('deep.md', ('> '):rep(500) .. 'deep', '# A title')")
  harness.equal(
    editor:lua([[
      local kinds = {}
      for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
        table.insert(kinds, vim.bo[vim.api.nvim_win_get_buf(window)].filetype)
      end
      return kinds
    ]]),
    { 'reverie', 'markdown' }
  )
end)

---@param editor harness.Editor
local function two_hunks(editor)
  user.quiet(editor)
  editor:open('a.txt')
  local full = editor.workspace .. '/a.txt'
  editor.model:reply_tool('Read', { file_path = full })
  editor.model:reply_tool('MultiEdit', {
    file_path = full,
    edits = {
      { old_string = 'one', new_string = 'ONE' },
      { old_string = 'nine', new_string = 'NINE' },
    },
  })
  editor.model:reply('Changed.')
  user.prompt(editor, 'Change it')
  editor:wait_screen('Changed.')
  editor:wait_screen('1 changed')
  editor:keys('<C-\\><C-n>')
  editor:command('wincmd t')
end

harness.test(
  'a review shows the file beside what it was, and hunks are kept and taken back there',
  { files = user.TWO, settings = user.ACCEPT, init = user.INIT },
  function(editor)
    two_hunks(editor)
    editor:keys(':Reverie review<CR>')
    editor:wait('two diff windows', function()
      return editor:lua([[
      local count = 0
      for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do count = count + (vim.wo[window].diff and 1 or 0) end
      return count == 2 and #vim.api.nvim_tabpage_list_wins(0) == 2
    ]])
    end)
    harness.equal(editor:lua('return vim.fn.expand("%:t")'), 'a.txt')
    harness.equal(editor:lua('return vim.fn.line(".")'), 1, 'the first change')
    editor:keys(':Reverie keep<CR>')
    editor:wait('the kept one in the left window', function()
      return editor:lines('reverie://before')[1] == 'ONE'
    end)
    editor:wait('the cursor at the next change', function()
      return editor:lua('return vim.fn.line(".")') == 9
    end)
    editor:keys(':Reverie reject<CR>')
    editor:wait('the end of the review', function()
      return editor:lua('return #vim.api.nvim_list_tabpages()') == 1
    end)
    harness.equal(editor:lines('a.txt')[1], 'ONE')
    harness.equal(editor:lines('a.txt')[9], 'nine')
    editor:wait('the file on disk', function()
      return editor:on_disk('a.txt'):find('ONE', 1, true) and editor:on_disk('a.txt'):find('nine', 1, true)
    end)
    harness.equal(editor:lua('return tostring(vim.wo.diff)'), 'false', 'no diff is left on')
  end
)

harness.test(
  'a file with changes that are not saved is reviewed as it is',
  { files = user.TWO, settings = user.ACCEPT, init = user.INIT },
  function(editor)
    two_hunks(editor)
    editor:keys('5Gcwmine<Esc>:Reverie review<CR>')
    editor:wait('the review', function()
      return editor:lua('return vim.wo.diff and #vim.api.nvim_tabpage_list_wins(0) == 2')
    end)
    harness.equal(editor:lua('return vim.fn.expand("%:t")'), 'a.txt')
    harness.equal(editor:lines('a.txt')[5], 'mine')
    harness.lacks(table.concat(editor:lua('return _G.told'), '\n'), 'cannot be opened')
  end
)

harness.test(
  'who is in the chat, and not in a file, is told how to keep all changes',
  { files = user.TWO, settings = user.ACCEPT, init = user.INIT },
  function(editor)
    two_hunks(editor)
    editor:keys(':Reverie chat<CR>')
    user.box(editor)
    editor:keys('<C-\\><C-n>:Reverie keep<CR>')
    user.wait_told(editor, 'no file is here. For all changes: `:Reverie keep all`')
    editor:keys(':Reverie keep all<CR>')
    editor:wait_gone('1 changed')
  end
)

harness.test(
  'what a review says can be typed works',
  { files = user.TWO, settings = user.ACCEPT, init = user.INIT },
  function(editor)
    two_hunks(editor)
    editor:keys(':Reverie review<CR>')
    user.wait_told(editor, ':Reverie keep')
    editor:command('Reverie keep file')
    editor:wait('no change', function()
      return editor:lua('return #require("reverie.changes").files') == 0
    end)
  end
)

harness.test(
  'a review that the user ends with :tabclose or q leaves no diff behind',
  { files = user.TWO, settings = user.ACCEPT, init = user.INIT },
  function(editor)
    two_hunks(editor)
    editor:keys(':Reverie review<CR>')
    editor:wait('the review', function()
      return editor:lua('return #vim.api.nvim_list_tabpages()') == 2
    end)
    editor:keys(':tabclose<CR>')
    editor:wait('one tab page', function()
      return editor:lua('return #vim.api.nvim_list_tabpages()') == 1
    end)
    harness.equal(editor:lua('return tostring(vim.wo.diff)'), 'false')
    editor:keys(':Reverie reject all<CR>')
    editor:wait('no change', function()
      return editor:lua('return #require("reverie.changes").files') == 0
    end)
    harness.equal(editor:lines('a.txt')[1], 'one')
  end
)

harness.test(
  'do in the diff window takes a hunk back, and the review knows',
  { files = user.TWO, settings = user.ACCEPT, init = user.INIT },
  function(editor)
    two_hunks(editor)
    editor:keys(':Reverie review<CR>')
    editor:wait('the review', function()
      return editor:lua('return #vim.api.nvim_list_tabpages()') == 2
    end)
    editor:keys('ggdo')
    editor:wait('the old line', function()
      return editor:lines('a.txt')[1] == 'one'
    end)
    editor:keys(':w<CR>:Reverie changes<CR>')
    editor:wait('the quickfix list', function()
      return editor:lua('return #vim.fn.getqflist()') == 1
    end)
  end
)

harness.test(
  'the changed places are in the quickfix list, one for each hunk',
  { files = user.TWO, settings = user.ACCEPT, init = user.INIT },
  function(editor)
    two_hunks(editor)
    editor:keys(':Reverie changes<CR>')
    editor:wait('the quickfix list', function()
      return editor:lua('return #vim.fn.getqflist()') == 2
    end)
    harness.equal(
      editor:lua(
        'return vim.tbl_map(function(one) return { vim.fs.basename(vim.fn.bufname(one.bufnr)), one.lnum } end, vim.fn.getqflist())'
      ),
      { { 'a.txt', 1 }, { 'a.txt', 9 } }
    )
    harness.equal(editor:lua('return vim.bo.filetype'), 'qf')
  end
)
