--- What Neovim draws: its `redraw` events, applied to a grid of cells. See `:help ui-linegrid`.

---@class harness.Cell
---@field text string
---@field style integer

---@class harness.Screen
---@field width integer
---@field height integer
---@field cursor { row: integer, column: integer } from 1
---@field mode string
---@field title string
---@field package rows harness.Cell[][]
---@field package styles table<integer, table<string, any>>
local Screen = {}
Screen.__index = Screen

---@return harness.Screen
function Screen.new()
  return setmetatable({
    width = 0,
    height = 0,
    cursor = { row = 1, column = 1 },
    mode = 'normal',
    title = '',
    rows = {},
    styles = { [0] = {} },
  }, Screen)
end

local function blank(width)
  local row = {}
  for column = 1, width do
    row[column] = { text = ' ', style = 0 }
  end
  return row
end

---@type table<string, fun(screen: harness.Screen, ...)>
local events = {}

function events.grid_resize(screen, _, width, height)
  screen.width, screen.height, screen.rows = width, height, {}
  for row = 1, height do
    screen.rows[row] = blank(width)
  end
end

function events.grid_clear(screen)
  events.grid_resize(screen, 1, screen.width, screen.height)
end

---@param cells [string, integer?, integer?][]
function events.grid_line(screen, _, row, column, cells)
  local line = screen.rows[row + 1]
  local style = 0 ---@type integer
  for _, cell in ipairs(cells) do
    style = cell[2] or style
    for _ = 1, cell[3] or 1 do
      column = column + 1
      line[column] = { text = cell[1], style = style }
    end
  end
end

function events.grid_scroll(screen, _, top, bottom, left, right, by)
  local from, to, step = top + 1, bottom - by, 1
  if by < 0 then
    from, to, step = bottom, top - by + 1, -1
  end
  for row = from, to, step do
    for column = left + 1, right do
      screen.rows[row][column] = screen.rows[row + by][column]
    end
  end
end

function events.grid_cursor_goto(screen, _, row, column)
  screen.cursor = { row = row + 1, column = column + 1 }
end

function events.hl_attr_define(screen, id, style)
  screen.styles[id] = style
end

function events.mode_change(screen, mode)
  screen.mode = mode
end

function events.set_title(screen, title)
  screen.title = title
end

--- Of one `redraw` notification.
---@param batch any[][] each an event's name and, for each time it happened, its parameters
function Screen:redraw(batch)
  for _, event in ipairs(batch) do
    local apply = events[event[1]]
    if apply then
      for index = 2, #event do
        apply(self, unpack(event[index]))
      end
    end
  end
end

--- The rows as a user sees them, without the spaces at their ends.
---@return string[]
function Screen:lines()
  return vim.tbl_map(function(row)
    local texts = vim.tbl_map(function(cell)
      return cell.text
    end, row)
    return (table.concat(texts):gsub('%s+$', ''))
  end, self.rows)
end

---@return string
function Screen:text()
  return table.concat(self:lines(), '\n')
end

--- How the first cell of a text looks: `foreground`, `background`, `bold`, … ; nothing if the text is not there.
---@param text string
---@return table<string, any>?
function Screen:style_of(text)
  for _, row in ipairs(self.rows) do
    local line = ''
    local starts = {} ---@type table<integer, harness.Cell>
    for _, cell in ipairs(row) do
      starts[#line + 1] = cell
      line = line .. cell.text
    end
    local found = line:find(text, 1, true)
    if found and starts[found] then
      return self.styles[starts[found].style] or {}
    end
  end
end

return Screen
