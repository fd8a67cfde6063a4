package instances

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

func TestReapTellsLastWords(t *testing.T) {
	const line = "time=2026-09-01T12:00:00Z level=INFO msg=ready\n"
	for _, tc := range []struct{ name, log, want string }{
		{"nothing", "", ""},
		{"blank lines", "\n \n", ""},
		{"a line", line + "time=2026 level=ERROR msg=bad\n\n", "; its log ends with: time=2026 level=ERROR msg=bad"},
		{"a panic", line + "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:1 +0x1\n", "; its log ends with: panic: boom"},
		{"a fatal error", line + "fatal error: out of memory\n\ngoroutine 1:\n", "; its log ends with: fatal error: out of memory"},
		{"a panic that was survived", "panic: boom\nstack\n" + line, "; its log ends with: " + strings.TrimSpace(line)},
		{"control characters", "a\x1b[1mb\tc", "; its log ends with: a\\x1b[1mb c"},
		{"a long line", strings.Repeat("ü", 300), "; its log ends with: " + strings.Repeat("ü", 200)},
		{"a long log", strings.Repeat(line, 10000) + "panic: boom\n", "; its log ends with: panic: boom"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			dir, err := instance.Create(root, "lab")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir.Log("sandbox"), []byte(tc.log), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := dir.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := Instances{RootFunc: func() (string, error) { return root, nil }}.Reap(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"lab (0 processes ended)" + tc.want}, got); d != "" {
				t.Error(d)
			}
		})
	}
}
