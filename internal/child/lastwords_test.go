package child

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLastWords(t *testing.T) {
	for _, tc := range []struct{ name, log, want string }{
		{"nothing written", "", ""},
		{"an error", "I1121 starting\nerror: control plane: no such file\n", "error: control plane: no such file"},
		{"a panic", "I1121 fine\npanic: nil map\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/main.go:12 +0x7d\n", "nil map"},
		{"the last of two panics", "panic: one\n\ngoroutine 1:\nI1121 again\npanic: two\n\ngoroutine 7:\n", "two"},
		{"a fatal error", "fatal error: concurrent map writes\n\ngoroutine 1:\n", "concurrent map writes"},
		{
			"a panic by zap", `{"level":"panic","msg":"failed to create WAL","error":"write 0.tmp: no space left on device"}` + "\npanic: failed to create WAL\n\ngoroutine 9:\n",
			"failed to create WAL: write 0.tmp: no space left on device",
		},
	} {
		if got := LastWords(tc.log); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestLogTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if got := LogTail(path, 0); got != "" {
		t.Errorf("of no file: %q", got)
	}
	if err := os.WriteFile(path, []byte("first\n"+strings.Repeat("x", logTailBytes-5)+"\nlast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := LogTail(path, 0); len(got) != logTailBytes || !strings.HasSuffix(got, "x\nlast\n") {
		t.Errorf("%d bytes", len(got))
	}
}
