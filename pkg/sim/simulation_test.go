package sim

import (
	"bytes"
	"log"
	"log/slog"
	"strings"
	"testing"
)

func TestCaptureLog(t *testing.T) {
	var out bytes.Buffer
	before := log.Writer()
	restore := CaptureLog(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	log.Printf("managed object not found: %s", "vm-1")
	restore()
	if got := out.String(); !strings.Contains(got, `level=DEBUG msg=simulator line="managed object not found: vm-1"`) {
		t.Errorf("got %q", got)
	}
	if log.Writer() != before {
		t.Error("the writer was not put back")
	}
}
