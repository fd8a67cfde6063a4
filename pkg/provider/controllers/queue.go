package controllers

// mostAtOnce bounds a batch, so that urged nodes do not wait for a round over all of them.
const mostAtOnce = 256

// queue is the order in which [rounds] hands out: urged nodes first, then those of the round, each unless it is with a
// consumer just now. It is used by one goroutine.
type queue struct {
	alone func(name string) bool

	urgent  []string
	waiting map[string]bool // those in urgent
	routine []string
	busy    map[string]bool

	inRound bool
	held    int // batches of the round that are with consumers
}

func newQueue(alone func(string) bool) *queue {
	return &queue{alone: alone, waiting: map[string]bool{}, busy: map[string]bool{}}
}

func (q *queue) urge(names []string) {
	for _, name := range names {
		if !q.waiting[name] {
			q.waiting[name] = true
			q.urgent = append(q.urgent, name)
		}
	}
}

// hurried reports whether there is an urged node that could be handed out.
func (q *queue) hurried() bool {
	for _, name := range q.urgent {
		if !q.busy[name] {
			return true
		}
	}
	return false
}

func (q *queue) beginRound(names []string) { q.routine, q.inRound = names, true }

// endRound reports, once, that everything of the round has been handed out and come back; next is what has been taken
// and not handed out.
func (q *queue) endRound(next *batch) bool {
	if !q.inRound || q.held > 0 || len(q.routine) > 0 || next != nil && !next.urged {
		return false
	}
	q.inRound = false
	return true
}

// take returns the next batch; nil when there is nothing to hand out.
func (q *queue) take() *batch {
	var names []string
	if names, q.urgent = q.cut(q.urgent); len(names) > 0 {
		for _, name := range names {
			delete(q.waiting, name)
		}
		return &batch{names: names, urged: true}
	}
	if names, q.routine = q.cut(q.routine); len(names) > 0 {
		return &batch{names: names}
	}
	return nil
}

// cut returns the first names that can be handed out together, and the rest. Those that are with a consumer go to the
// end of the rest.
func (q *queue) cut(from []string) (names, rest []string) {
	var busy []string
	for i, name := range from {
		if q.busy[name] {
			busy = append(busy, name)
			continue
		}
		alone := q.alone(name)
		if len(names) == mostAtOnce || alone && len(names) > 0 {
			return names, append(from[i:len(from):len(from)], busy...)
		}
		names = append(names, name)
		if alone {
			return names, append(from[i+1:len(from):len(from)], busy...)
		}
	}
	return names, busy
}

// putBack undoes the take of a batch of the round.
func (q *queue) putBack(b *batch) { q.routine = append(b.names, q.routine...) }

func (q *queue) handed(b *batch) {
	for _, name := range b.names {
		q.busy[name] = true
	}
	if !b.urged {
		q.held++
	}
}

func (q *queue) returned(b *batch) {
	for _, name := range b.names {
		delete(q.busy, name)
	}
	if !b.urged {
		q.held--
	}
}
