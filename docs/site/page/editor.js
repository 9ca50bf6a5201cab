// The editor with colours, made of CodeMirror. Without it the page uses its textarea.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

const setMarks = StateEffect.define();

class Note extends WidgetType {
  constructor(make) {
    super();
    this.make = make;
  }
  toDOM() {
    return this.make();
  }
  ignoreEvent() {
    return true; // its button is the page's
  }
}

const marks = StateField.define({
  create: () => Decoration.none,
  update(before, transaction) {
    for (const effect of transaction.effects) if (effect.is(setMarks)) return effect.value;
    return before.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

export function createEditor(parent, onRun) {
  const run = { key: "Mod-Enter", run: () => (onRun(), true), preventDefault: true };
  const extensions = [
    keymap.of([run, indentWithTab, ...defaultKeymap, ...historyKeymap]),
    lineNumbers(),
    history(),
    python(),
    indentUnit.of("    "),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    syntaxHighlighting(classHighlighter),
    EditorView.contentAttributes.of({ "aria-label": "Your code" }),
    marks,
  ];
  const view = new EditorView({ parent, state: EditorState.create({ extensions }) });
  view.scrollDOM.tabIndex = 0; // so that it can be scrolled by keys
  return {
    get: () => view.state.doc.toString(),
    set: (text) => view.setState(EditorState.create({ doc: text, extensions })),
    replaceLine(number, text) {
      const line = view.state.doc.line(number);
      view.dispatch({ changes: { from: line.from, to: line.to, insert: text } });
    },
    // items: {line, note}, where note() makes the element that stands below the line
    mark(items) {
      const known = items.filter(({ line }) => line >= 1 && line <= view.state.doc.lines);
      const decorations = known.flatMap(({ line, note }) => {
        const { from, to } = view.state.doc.line(line);
        return [
          Decoration.line({ class: "wrong-line" }).range(from),
          Decoration.widget({ widget: new Note(note), block: true, side: 1 }).range(to),
        ];
      });
      const effects = [setMarks.of(Decoration.set(decorations, true))];
      if (known.length) {
        const place = view.state.doc.line(known[0].line).from;
        effects.push(EditorView.scrollIntoView(place, { y: "center" }));
      }
      view.dispatch({ effects });
    },
  };
}
