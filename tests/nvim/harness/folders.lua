--- The fresh folder of a test: a home, a workspace, a configuration. Not below this repository, whose instructions and
--- memories are none of the test's business.

local M = {}

---@class harness.Folders
---@field root string
---@field home string
---@field workspace string
---@field configuration string of the agent, in the home
---@field project string where transcripts and memories of the workspace are

---@return harness.Folders
function M.make()
  local root =
    assert(vim.uv.fs_mkdtemp(assert(vim.uv.fs_realpath(vim.uv.os_tmpdir())) .. '/reverie-nvim-XXXXXX'))
  local home, workspace = root .. '/home', root .. '/workspace'
  local configuration = home .. '/.claude'
  local project = configuration .. '/projects/' .. workspace:gsub('[^%w]', '-')
  for _, folder in ipairs({ workspace, configuration, project .. '/memory', root .. '/bin', root .. '/run' }) do
    vim.fn.mkdir(folder, 'p')
  end
  return { root = root, home = home, workspace = workspace, configuration = configuration, project = project }
end

--- Paths and texts, below a folder.
---@param folder string
---@param files? table<string, string>
function M.write_all(folder, files)
  for path, text in pairs(files or {}) do
    M.write(folder .. '/' .. path, text)
  end
end

---@param path string
---@param text string
function M.write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
end

---@param folders harness.Folders
function M.remove(folders)
  vim.fn.delete(folders.root, 'rf')
end

return M
