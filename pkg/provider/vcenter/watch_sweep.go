package vcenter

import (
	"context"
	"slices"
	"time"
)

// note remembers how to remove something that this watch has made on the server. Views and collectors live as long as
// their session, and a session outlives many rounds: unremoved, they would pile up and cost the vCenter work at every
// change.
func (w *watch) note(s *Session, remove func(context.Context) error) {
	if w.owner != s {
		w.owner, w.leftover = s, nil
	}
	w.leftover = append(w.leftover, remove)
}

// sweep removes what is noted, newest first, unless it went with an earlier session. A round that lost its vCenter
// leaves that to the next one. An error is not worth more than a line: the thing may be gone already.
func (w *watch) sweep(ctx context.Context, s *Session) {
	remove := w.leftover
	w.leftover = nil
	if w.owner != s || s.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, min(w.client.cfg.CallTimeout, 5*time.Second))
	defer cancel()
	for _, r := range slices.Backward(remove) {
		if err := r(ctx); err != nil {
			w.client.cfg.Logger.Debug("watch leftover", "err", err)
		}
	}
}
