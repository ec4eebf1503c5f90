---@meta
-- Neovim's runtime has no types of `vim.uv`: it is not checked. These are named so that annotations can name them.

---@type any
vim.uv = nil

---@class uv.uv_handle_t
---@field [string] any

---@class uv.uv_timer_t : uv.uv_handle_t
---@class uv.uv_pipe_t : uv.uv_handle_t
---@class uv.uv_process_t : uv.uv_handle_t
---@class uv.uv_fs_event_t : uv.uv_handle_t
