package child

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadTail(t *testing.T) {
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("line %d", i+1))
	}
	long := strings.Repeat("x", 3000)
	tests := []struct {
		name string
		old  string // written by an earlier process
		text string
		want []string
	}{
		{name: "nothing", old: "earlier\n"},
		{name: "only newlines", text: "\n\n"},
		{name: "one run", old: "earlier\n", text: "a\r\nb", want: []string{"a", "b"}},
		{name: "last 20 lines", text: strings.Join(many, "\n") + "\n", want: many[10:]},
		{name: "last 4 kB, whole lines", text: long + "\n" + long + "\nend\n", want: []string{long, "end"}},
		{name: "last 4 kB of one line", text: strings.Repeat("y", 9000), want: []string{strings.Repeat("y", 4096)}},
		{name: "binary", text: "a\xffb\n", want: []string{"a?b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(tt.old+tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, readTail(path, int64(len(tt.old)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if lines := readTail(filepath.Join(t.TempDir(), "missing"), 0); lines != nil {
		t.Errorf("missing file: %q", lines)
	}
}

func TestOpenLogRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node", "worker-1.log")
	for _, text := range []string{"1111", "2222", "3333", "4444"} {
		log, size, err := openLog(path, 8)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := log.Stat(); err != nil || info.Size() != size || info.Mode().Perm() != 0o600 {
			t.Errorf("size %d, %v, %v", size, info, err)
		}
		if _, err := log.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{path: "33334444", path + ".1": "11112222"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", file, got, err, want)
		}
	}
}

func TestLastWords(t *testing.T) {
	for _, tc := range []struct{ name, log, want string }{
		{"nothing written", "", ""},
		{"an error", "I1121 starting\nerror: control plane: no such file\n", "error: control plane: no such file"},
		{"an error with advice", "error: unknown flag: --cluod\ntry: ccm --help\n", "error: unknown flag: --cluod"},
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

func TestLastError(t *testing.T) {
	for name, tc := range map[string]struct{ log, want string }{
		"nothing":       {"", ""},
		"no error":      {"I1126 10:00:00.000001       1 run.go:1] starts\n", ""},
		"klog":          {"E1126 10:00:00.000001       1 a.go:1] \"first\"\nE1126 10:00:01.000001       1 a.go:1] \"second\"\nI1126 10:00:02.000001       1 a.go:1] goes on\n", "E1126 10:00:01.000001       1 a.go:1] \"second\""},
		"no klog":       {"Error of a word\nEnd 1126\n", ""},
		"slog":          {"time=1 level=ERROR msg=x\ntime=2 level=INFO msg=y\n", "time=1 level=ERROR msg=x"},
		"zap":           {"{\"level\":\"error\",\"msg\":\"x\"}\n", "{\"level\":\"error\",\"msg\":\"x\"}"},
		"used up":       {"E1126 10:00:00.000001       1 p.go:1] \"plugin watcher\" err=\"too many open files\"\nE1126 10:00:01.000001       1 a.go:1] \"later\"\n", "E1126 10:00:00.000001       1 p.go:1] \"plugin watcher\" err=\"too many open files\""},
		"used up, fine": {"I1126 10:00:00.000001       1 p.go:1] too many open files, retried\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := LastError(tc.log); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
