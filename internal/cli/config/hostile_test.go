package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// What has no end, no writer, or is no file is refused in words, without the memory that all of it would take.
func TestNoFileAtAll(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"/dev/zero": "is longer than the 1 MiB a cloud config may have", "-": "is longer than the 1 MiB a cloud config may have",
		pipe: "is a pipe that nothing is written to", t.TempDir(): "is a directory",
	} {
		for name, run := range map[string]func(*clitest.Env) report.Record{
			"validate": func(e *clitest.Env) report.Record { return e.Run(t.Context(), NewCmdValidate(e.Deps, nil), file) },
			"render":   func(e *clitest.Env) report.Record { return e.Run(t.Context(), NewCmdRender(e.Deps, nil), file) },
		} {
			e := clitest.NewEnv(nil)
			e.Streams.In = zeros{}
			before := allocated()
			if r := run(e); r.Exit != report.Usage || !strings.Contains(r.Message, want) {
				t.Errorf("%s %s: ended with %+v, want %q", name, file, r, want)
			}
			if took := allocated() - before; took > 32<<20 {
				t.Errorf("%s %s: took %d bytes", name, file, took)
			}
		}
	}
	if _, err := os.Stat(pipe); err != nil {
		t.Error(err)
	}
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
