// Texts of the command palette and of menus.

export const paletteEn = {
  'palette.title': 'Commands and names',
  'palette.placeholder': 'A view, thread, object, function, task or action',
  'palette.placeholder.actions': 'A view or action',
  'palette.group.view': 'view',
  'palette.group.thread': 'thread',
  'palette.group.object': 'object',
  'palette.group.function': 'function',
  'palette.group.task': 'task',
  'palette.group.action': 'action',
  'palette.zoom-all': 'Timeline: show all',
  'palette.clear': 'Clear all filters',
  'palette.results': 'List of results',
  'palette.action.undo': 'Undo the last change of the view',
  'palette.action.redo': 'Redo the change',
  'palette.action.copy': 'Copy link to this view',
  'palette.action.theme': 'Dark or light',
  'palette.action.strip': 'Show or hide the timeline strip',
  'palette.action.help': 'Keyboard map',
} as const;
