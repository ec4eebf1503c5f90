--- Whether a folder's own files may run programs: shows what would run, and asks.
local client = require('reverie.client')
local render = require('reverie.chat.render')
local tell = require('reverie.tell')

local M = {}

--- Folders of which it was told that they are not trusted.
---@type table<string, boolean>
local told = {}

--- Once for a folder that has something to run.
function M.tell()
  client.request('reverie/trust/get', {}, function(_, trust)
    if trust and trust.status ~= 'trusted' and #trust.items > 0 and not told[trust.folder] then
      told[trust.folder] = true
      local words = trust.status == 'changed' and 'What this folder runs has changed since you trusted it'
        or 'This folder is not trusted: its own settings, servers and skills do not run'
      require('reverie.chat').notice('warning', words .. '. `:Reverie trust` shows them.')
    end
  end)
end

---@param trust reverie.TrustResult
---@param trusted boolean
local function set(trust, trusted)
  client.ask(
    'reverie/trust/set',
    { folder = trust.folder, trusted = trusted, digest = trust.digest },
    function(result)
      if trusted and result.status ~= 'trusted' then
        tell.warn('the folder has changed meanwhile: look again.')
      else
        tell.info(('%s is %s.'):format(result.folder, result.status))
      end
    end
  )
end

function M.ask()
  client.ask('reverie/trust/get', {}, function(trust)
    if trust.cannot then
      tell.warn('this folder cannot be trusted: ' .. trust.cannot)
      return
    end
    local lines = { (' %s is %s.'):format(trust.folder, trust.status), '' }
    if #trust.items == 0 then
      lines[#lines + 1] = ' Nothing in it would run programs now.'
    else
      lines[#lines + 1] = ' These would run programs or loosen settings:'
      for _, item in ipairs(trust.items) do
        local path = require('reverie.config').shorten(item.path)
        lines[#lines + 1] = ('   %s: %s (%s)'):format(item.kind, render.one_line(item.detail), path)
      end
    end
    for at, change in ipairs(trust.changes or {}) do
      if at == 1 then
        vim.list_extend(lines, { '', ' Changed since:' })
      end
      lines[#lines + 1] = '   ' .. render.one_line(change)
    end
    local is_trusted = trust.status == 'trusted'
    require('reverie.asks').choose({
      is_wanted = true,
      may_be_left = true,
      title = is_trusted and 'This folder is trusted' or 'Trust this folder?',
      lines = lines,
      choices = {
        {
          label = is_trusted and 'Take the trust back' or 'Trust this folder',
          choose = function()
            set(trust, not is_trusted)
          end,
        },
        { label = 'Leave it', choose = function() end },
      },
    })
  end)
end

return M
