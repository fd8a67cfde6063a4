package csi

import (
	"context"
	"log/slog"
	"slices"
)

// withAttrs adds the attributes of Logger.With to each record, because klog's handler drops them (klogger.Handle in its
// klogr_slog.go), and with them the vCenter of a line. It does not support groups.
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
