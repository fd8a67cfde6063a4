package csi

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2/textlogger"
)

// forgetful drops the attributes of With, as klog's handler does.
type forgetful struct{ slog.Handler }

func (h forgetful) WithAttrs([]slog.Attr) slog.Handler { return h }

// A logger's attributes are in its lines.
func TestWithAttrs(t *testing.T) {
	var out bytes.Buffer
	text := logr.ToSlogHandler(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
	log := slog.New(withAttrs{Handler: forgetful{text}}).With("vcenter", "us").With("part", "tags")
	other := log.With("x", 1)
	log.Info("synced", "seconds", 7)
	if got := out.String(); !strings.Contains(got, `vcenter="us" part="tags" seconds=7`) {
		t.Error(got)
	}
	out.Reset()
	other.Info("synced")
	if got := out.String(); !strings.Contains(got, `part="tags" x=1`) {
		t.Error(got)
	}
}
