package prompt

// remembered is the maximum number of lines in a history.
const remembered = 200

// history has the entered lines, oldest first.
type history struct {
	lines []string
	at    int    // the line that is shown; len(lines) is the one that is being typed
	draft string // which is that
}

// add appends a line, unless it equals the last one.
func (h *history) add(line string) {
	if n := len(h.lines); line != "" && (n == 0 || h.lines[n-1] != line) {
		h.lines = append(h.lines, line)
	}
	if n := len(h.lines); n > remembered {
		h.lines = append(h.lines[:0], h.lines[n-remembered:]...)
	}
	h.begin()
}

// begin goes to the end.
func (h *history) begin() { h.at, h.draft = len(h.lines), "" }

// move goes up (-1) or down (1) from the current line, and returns the line there; ok is false at either end.
func (h *history) move(by int, now string) (line string, ok bool) {
	to := h.at + by
	if to < 0 || to > len(h.lines) {
		return now, false
	}
	if h.at == len(h.lines) {
		h.draft = now
	}
	if h.at = to; to == len(h.lines) {
		return h.draft, true
	}
	return h.lines[to], true
}
