--- `:checkhealth reverie`: is everything there that it needs, and if not, what to do.
local config = require('reverie.config')
local server = require('reverie.server')

local M = {}

local LIMIT_MS = 20000

local SHOWN = { ok = vim.health.ok, warning = vim.health.warn, failed = vim.health.error }

local function check_editor()
  vim.health.start('Neovim')
  if vim.fn.has('nvim-0.10') == 1 then
    vim.health.ok(tostring(vim.fn.execute('version'):match('NVIM [^\n]+')))
  else
    vim.health.error('Neovim is older than 0.10', 'Install a newer one.')
  end
  if vim.g.reverie ~= nil and type(vim.g.reverie) ~= 'table' then
    vim.health.error('vim.g.reverie is no table', 'See `:help reverie-options`.')
  end
  local _, problems = config.merge(config.given())
  for _, problem in ipairs(problems) do
    vim.health.error('options: ' .. problem, 'See `:help reverie-options`.')
  end
  if pcall(vim.treesitter.language.inspect, 'markdown') then
    vim.health.ok('the grammar of Markdown is there')
  else
    vim.health.warn(
      'the grammar of Markdown is missing',
      'The chat works, without colours: `:TSInstall markdown`.'
    )
  end
end

---@return boolean
local function check_program()
  vim.health.start('The server')
  local path, problem = server.find()
  if not path then
    vim.health.error(assert(problem), server.advice)
    return false
  end
  local version, failure = server.version(path)
  if not version then
    vim.health.error(assert(failure), server.advice)
    return false
  end
  local misfit = server.misfit(version)
  if misfit then
    vim.health.error(misfit, 'Update the older of the two, so that their versions agree.')
    return false
  end
  vim.health.ok(('reverie %s at %s'):format(version, path))
  return true
end

--- What the server itself finds: model, trust, sandbox, disk, sessions.
local function check_with_server()
  local outcome
  require('reverie.client').request('reverie/doctor', {}, function(problem, result)
    outcome = { problem = problem, result = result }
  end)
  vim.wait(LIMIT_MS, function()
    return outcome ~= nil
  end, 10)
  if not outcome then
    vim.health.error('the server does not answer', '`:Reverie restart`, and look at `:Reverie log`.')
  elseif outcome.problem then
    vim.health.error(outcome.problem, 'Look at `:Reverie log`.')
  else
    vim.health.start('What the server found')
    for _, check in ipairs(outcome.result.checks) do
      local advice = check.fix
      if check.name == 'trust' and check.status ~= 'ok' then
        advice = '`:Reverie trust` shows what would run, and asks.'
      end
      SHOWN[check.status](('%s: %s'):format(check.name, check.detail), check.status ~= 'ok' and advice or nil)
    end
  end
end

function M.check()
  check_editor()
  if check_program() then
    check_with_server()
  end
end

return M
