package wire

// Conns is how many connections the wire has taken that have not ended.
func (w *Wire) Conns() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns)
}
