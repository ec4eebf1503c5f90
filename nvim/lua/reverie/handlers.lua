--- What the server tells and asks, and who takes it. For the `handlers` of the client.
---
--- The answer to a request is what its handler returns. vim.lsp runs handlers in coroutines, so one that has to wait for
--- the user yields, and holds up nothing.
local events = require('reverie.events')

--- `textDelta` → `TextDelta`
local function camel(kind)
  return kind:sub(1, 1):upper() .. kind:sub(2)
end

---@type table<string, fun(err: any, params: any, context: any, ...: any): any>
return {
  ---@param params reverie.SessionUpdateParams
  ['reverie/session/update'] = function(_, params)
    require('reverie.chat').updated(params)
    events.emit(camel(params.update.kind), params)
  end,

  ---@param params reverie.MemoryEventParams
  ['reverie/memory/event'] = function(_, params)
    require('reverie.chat').remembered(params)
    require('reverie.memory').happened(params)
    events.emit('Memory' .. camel(params.kind), params)
  end,

  ---@param params reverie.MemoryInlineParams
  ['reverie/memory/inline'] = function(_, params)
    require('reverie.inline').happened(params)
    events.emit('MemoryInline', params)
  end,
  ['workspace/inlayHint/refresh'] = function(...)
    require('reverie.inline').refresh_all()
    return vim.lsp.handlers['workspace/inlayHint/refresh'](...)
  end,
  ['workspace/codeLens/refresh'] = function()
    require('reverie.inline').refresh_all()
    return vim.NIL
  end,

  ---@param params reverie.DreamProgressParams
  ['reverie/dream/progress'] = function(_, params)
    require('reverie.dream').progressed(params)
    events.emit('Dream', params)
  end,

  ['reverie/permission/ask'] = function(_, params)
    return require('reverie.asks').permission(params)
  end,
  ['reverie/user/ask'] = function(_, params)
    return require('reverie.asks').question(params)
  end,
  ['reverie/plan/ask'] = function(_, params)
    return require('reverie.asks').plan(params)
  end,

  ['workspace/applyEdit'] = function(_, params, context)
    return require('reverie.buffers').apply(params, context.client_id)
  end,
  ['reverie/document/save'] = function(_, params)
    return require('reverie.buffers').save(params)
  end,
  ['reverie/editor/diagnostics'] = function(_, params)
    return require('reverie.buffers').diagnostics(params)
  end,
  ['reverie/editor/symbols'] = function(_, params)
    return require('reverie.buffers').symbols(params)
  end,
}
