package csi

import (
	"context"
	"log/slog"
	"slices"
)

// withAttrs puts what a logger was given by With into each record: klog's handler forgets it (klogger.Handle in its
// klogr_slog.go), and with it which vCenter a line is about. Groups are not for it.
type withAttrs struct {
	slog.Handler
	attrs []slog.Attr
}

// WithAttrs implements [slog.Handler].
func (h withAttrs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withAttrs{h.Handler, slices.Concat(h.attrs, attrs)}
}

// Handle implements [slog.Handler].
func (h withAttrs) Handle(ctx context.Context, r slog.Record) error {
	all := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	all.AddAttrs(h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		all.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, all)
}
