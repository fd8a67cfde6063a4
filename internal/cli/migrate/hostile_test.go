package migrate

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	migration "github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
)

// No more of a source is read than shows that it is too long, and a pipe without a writer is not waited for.
func TestNoSourceAtAll(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := readSource(nil, "/dev/zero"); err != nil || len(s.Data) != migration.MaxSize+1 {
		t.Errorf("%d bytes, %v", len(s.Data), err)
	}
	for file, want := range map[string]string{pipe: ": is a pipe that nothing is written to", t.TempDir(): ": is a directory"} {
		if _, err := readSource(nil, file); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}
