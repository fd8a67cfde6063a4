package sandbox

import "time"

// changes are rows that have changed, and when each was told.
type changes struct {
	lines [][]byte
	times []time.Time
}

// readTimed is [rows.read] for a reader that wants to know when.
func (r *rows) readTimed() ([][]byte, *rowReader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reader := r.reader()
	reader.timed = true
	return r.texts(), reader
}

// takeTimed is [rows.take] with the times.
func (r *rows) takeTimed(reader *rowReader) (changes, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return reader.takeTimed()
}

// takeAll returns what there is for a reader, and all rows as they are by then: the first leads up to the second.
func (r *rows) takeAll(reader *rowReader) (c changes, all [][]byte, fast bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, fast = reader.takeTimed()
	return c, r.texts(), fast
}

// takeTimed empties the reader. The caller holds the lock of its rows.
func (r *rowReader) takeTimed() (changes, bool) {
	c := changes{r.lines, r.times}
	r.lines, r.times, r.bytes = nil, nil, 0
	return c, !r.slow
}
