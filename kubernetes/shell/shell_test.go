package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// container is a container's files in a folder of the host that has a secret beside them.
type container struct {
	t              *testing.T
	host           string
	files          *FS
	stdout, stderr buffer
}

// buffer is safe for concurrent use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.b.Reset()
	return b.b.String()
}

// newContainer returns a container with its own files, a volume /data, a subPath /sub of another volume, and a read-only /conf.
func newContainer(t *testing.T) *container {
	t.Helper()
	host := t.TempDir()
	for _, dir := range []string{"root/tmp", "root/data", "root/sub", "root/conf", "data", "volume/inner", "conf"} {
		if err := os.MkdirAll(filepath.Join(host, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"secret": "host secret", "volume/beside": "volume secret", "conf/app.conf": "greeting=hello\n"} {
		if err := os.WriteFile(filepath.Join(host, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &container{t: t, host: host, files: NewFS([]Mount{
		{Path: "/", Base: filepath.Join(host, "root")},
		{Path: "/data", Base: filepath.Join(host, "data")},
		{Path: "/sub", Base: filepath.Join(host, "volume"), Sub: "inner"},
		{Path: "/conf", Base: filepath.Join(host, "conf"), ReadOnly: true},
	})}
}

// run interprets a script.
func (c *container) run(script string) (Result, string, string) {
	return c.within(30*time.Second, &Program{Args: []string{"sh", "-c", script}})
}

func (c *container) within(limit time.Duration, p *Program) (Result, string, string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), limit)
	defer cancel()
	p.Files, p.Hostname = c.files, "pod-0"
	p.Stdout, p.Stderr = &c.stdout, &c.stderr
	r := p.Run(ctx)
	return r, c.stdout.take(), c.stderr.take()
}

// What ordinary scripts print.
func TestScripts(t *testing.T) {
	c := newContainer(t)
	for _, test := range []struct {
		script, want string
		code         int
	}{
		{"echo hello; false", "hello\n", 1},
		{"cat /conf/app.conf | wc -l", "1\n", 0},
		{". /conf/app.conf; echo $greeting", "hello\n", 0},
		{"mkdir -p /data/a/b && echo x > /data/a/b/f && cp -r /data/a /data/c && ls /data/c/b && cat /data/c/b/f", "f\nx\n", 0},
		{"cd /data && pwd && echo 1 > one && mv one two && [ -f two ] && test ! -e one && echo moved", "/data\nmoved\n", 0},
		{"echo y > /data/m && mv /data/m /tmp/m && cat /tmp/m", "y\n", 0},
		{"seq 3 | tail -n 1; seq 5 | head -2; printf '%s-%d\\n' a 7", "3\n1\n2\na-7\n", 0},
		{"printf 'b\\na\\nb\\n' | sort | uniq -c | sed 's/^ *//'", "1 a\n2 b\n", 0},
		{"printf abc | sha256sum", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  -\n", 0},
		{"dd if=/dev/zero of=/data/z bs=1k count=4 2>/dev/null; stat -c %s /data/z; wc -c < /data/z", "4096\n4096\n", 0},
		{"chmod 600 /data/z; stat -c %a /data/z; chmod u+x,g+r /data/z; stat -c %a /data/z; chown -R 1:1 /data && echo ok", "600\n740\nok\n", 0},
		{"hostname; id -u; echo $HOSTNAME; uname", "pod-0\n0\npod-0\nLinux\n", 0},
		{"X=1 env | grep ^X=; env Y=2 sh -c 'echo $Y'", "X=1\n2\n", 0},
		{"for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done; f() { return 4; }; f", "1\n3\n", 4},
		{"printf 'a\\nb\\n' > /tmp/l; grep -c . /tmp/l; grep -q b /tmp/l && echo found; grep -v a /tmp/l; grep x /tmp/l", "2\nfound\nb\n", 1},
		{"ln -s /data/link-target /tmp/ln; echo via > /data/link-target; cat /tmp/ln; readlink /tmp/ln", "via\n/data/link-target\n", 0},
		{"touch /data/t && rm /data/t && ! test -e /data/t && rm -rf /data/a && ls -A /data | grep -c c", "1\n", 0},
		{"echo x > /conf/app.conf", "", 1},
		{"touch /conf/new; rm /conf/app.conf; cat /conf/app.conf", "greeting=hello\n", 0},
		{"nslookup db", "", 127},
		{"command -v cat; command -v nginx || echo none", "/bin/cat\nnone\n", 0},
		{"echo 'echo from script $1' > /tmp/s.sh; sh /tmp/s.sh arg", "from script arg\n", 0},
		{"printf '#!/bin/sh\\necho run $1\\n' > /tmp/x; chmod +x /tmp/x; /tmp/x one", "run one\n", 0},
		{"set -e; false; echo never", "", 1},
		{"tar cf /tmp/t.tar -C /conf app.conf && tar xf /tmp/t.tar -C /data && cat /data/app.conf", "greeting=hello\n", 0},
		{"find /data -name app.conf -type f; echo a,b,c | cut -d, -f2; echo ab | tr a-b A-B", "/data/app.conf\nb\nAB\n", 0},
		{"timeout 0.1 sleep 5; echo $?; sleep 0 && echo slept", "124\nslept\n", 0},
		{"cat <<X\nhere $((1+2))\nX", "here 3\n", 0},
		{"rm -rf / ; cat /conf/app.conf; ls /data", "greeting=hello\n", 0},
		{"date +%Y | grep -Ec '^[0-9]{4}$'; echo a b | xargs -n 1 echo -", "1\n- a\n- b\n", 0},
	} {
		r, out, errs := c.run(test.script)
		if out != test.want || r.Code != test.code {
			t.Errorf("%s\n code %d, want %d\n got  %q\n want %q\n stderr %q", test.script, r.Code, test.code, out, test.want, errs)
		}
	}
}

// No script reaches what is beside the container's files: by .., absolute paths, links that it makes, names that the interpreter
// treats specially, or archives.
func TestEscapes(t *testing.T) {
	c := newContainer(t)
	secret := filepath.Join(c.host, "secret")
	up := strings.Repeat("../", 20)
	scripts := []string{
		"cat " + secret,
		"cat /" + up + secret,
		"cat /data/../" + up + secret,
		"cat /data/../../secret",
		"cat /sub/../beside /sub/../../volume/beside",
		"cd /sub && cat ../beside",
		"cd /sub/.. && cat beside volume/beside",
		"ln -s " + secret + " /data/l1; cat /data/l1",
		"ln -s ../secret /data/l2; cat /data/l2",
		"ln -s ../beside /sub/l3; cat /sub/l3",
		"ln -s " + up + " /data/l4; cat /data/l4" + secret + " /data/l4/secret",
		"ln -s .. /data/l5; cat /data/l5/secret; ls /data/l5 | grep secret && cat /data/l5/secret",
		"ln " + secret + " /data/l6; cat /data/l6",
		"ln -s /data/../../secret /data/l7 && cp -r /data/l7 /data/l8; cat /data/l8",
		"x=" + secret + "; cat < $x",
		"cat $(echo " + secret + ")",
		". " + secret + "; source " + secret,
		"sh " + secret,
		"while read l; do echo $l; done < " + secret,
		"mapfile -t a < " + secret + "; echo ${a[0]}",
		"echo $(<" + secret + ")",
		"cat ~/../" + secret + " ~root" + secret,
		"tar cf - " + secret + " | tar xf - -C /data; cat /data" + secret,
		"dd if=" + secret,
		"head -c 100 " + secret + "; tail " + secret + "; grep . " + secret + "; wc " + secret + "; sha256sum " + secret + "; sort " + secret,
		"cp " + secret + " /data/copy; cat /data/copy",
		"mv " + secret + " /data/moved; cat /data/moved",
		"cat <(cat " + secret + ")",
		"exec cat " + secret,
		"eval 'cat " + secret + "'",
		"echo * /" + up + "*; cat /*/secret /*/*/secret /*/*/*/secret",
		"find / -name secret | xargs cat",
		"cat /proc/self/root" + secret + " /proc/1/root" + secret + " /proc/self/cwd/secret",
		"test -f " + secret + " && echo host secret",
		"[ -e " + secret + " ] && echo host secret",
	}
	for _, script := range scripts {
		_, out, _ := c.run(script)
		if strings.Contains(out, "host secret") || strings.Contains(out, "volume secret") {
			t.Errorf("%s: %q", script, out)
		}
	}
	// What writes is confined, too.
	for _, script := range []string{
		"echo x > " + filepath.Join(c.host, "written"),
		"echo x > /data/../../written; echo x > /data/../written",
		"ln -s " + c.host + " /data/w1; echo x > /data/w1/written",
		"ln -s .. /data/w2; echo x > /data/w2/written",
		"ln -s ../.. /data/w3; mkdir /data/w3/written; touch /data/w3/written",
		"mkdir -p " + filepath.Join(c.host, "written"),
		"cp /conf/app.conf " + filepath.Join(c.host, "written"),
		"rm -rf " + c.host,
		"rm -rf /data/../../" + filepath.Base(c.host),
		"mv /data /moved; mv /sub /data/; rmdir /sub; rm -rf /sub",
		"chmod 000 " + secret + " /data/../../secret",
		"touch " + secret + "; truncate -s 0 " + secret,
		"dd if=/dev/zero of=" + secret + " count=1",
		"tee " + secret + " < /conf/app.conf",
		"sed -i s/host/broken/ " + secret,
		"mktemp -p " + c.host,
	} {
		_, _, _ = c.run(script)
	}
	if b, err := os.ReadFile(secret); string(b) != "host secret" || err != nil {
		t.Errorf("the host's file: %q %v", b, err)
	}
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the host's file: %v %v", info, err)
	}
	if b, err := os.ReadFile(filepath.Join(c.host, "volume/beside")); string(b) != "volume secret" || err != nil {
		t.Errorf("beside the subPath: %q %v", b, err)
	}
	entries, err := os.ReadDir(c.host)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "conf data root secret volume" {
		t.Errorf("the host's folder has %s", got)
	}
}

// The interpreter's own named pipes are files of the host's folder for temporary files: neither they nor files with such a name
// are reached.
func TestNamedPipes(t *testing.T) {
	c := newContainer(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	hidden := filepath.Join(tmp, "sh-interp-1")
	if err := os.WriteFile(hidden, []byte("host secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		"cat < " + hidden, "echo x > " + hidden, "export TMPDIR=" + tmp + "; sh -c 'cat < " + hidden + "'", "eval 'cat <(echo x)'",
		"TMPDIR=" + tmp + " bash -c 'echo x > " + tmp + "/sh-interp-2'",
	} {
		if _, out, _ := c.run(script); strings.Contains(out, "host secret") {
			t.Errorf("%s: %q", script, out)
		}
	}
	if b, err := os.ReadFile(hidden); string(b) != "host secret" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	if entries, err := os.ReadDir(tmp); len(entries) != 1 || err != nil {
		t.Errorf("%v %v", entries, err)
	}
}

// A container that swaps a folder for a link, between two looks at it, is held back by os.Root.
func TestLinkAfterMount(t *testing.T) {
	c := newContainer(t)
	if _, out, errs := c.run("echo mine > /sub/file; cat /sub/file"); out != "mine\n" {
		t.Fatalf("%q %q", out, errs)
	}
	inner := filepath.Join(c.host, "volume", "inner")
	if err := os.RemoveAll(inner); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(c.host, inner); err != nil {
		t.Fatal(err)
	}
	if r, out, _ := c.run("cat /sub/secret; echo x > /sub/written"); strings.Contains(out, "secret") || r.Code == 0 {
		t.Errorf("code %d, %q", r.Code, out)
	}
}

// Programs without end are ended by their context or by what they take.
func TestBounds(t *testing.T) {
	c := newContainer(t)
	for name, test := range map[string]struct {
		script string
		limit  time.Duration
		check  func(r Result, out string) error
	}{
		"loop":          {"while :; do :; done", 300 * time.Millisecond, nil},
		"arithmetic":    {"for ((;;)); do x=1; done", 300 * time.Millisecond, nil},
		"copy":          {"dd if=/dev/zero of=/dev/null", 300 * time.Millisecond, nil},
		"sleep":         {"sleep 1000", 300 * time.Millisecond, nil},
		"pipe":          {"cat /dev/zero | cat > /dev/null", 300 * time.Millisecond, nil},
		"read":          {"read x < /dev/zero", 300 * time.Millisecond, nil},
		"many numbers":  {"seq 1000000000000 > /dev/null", 300 * time.Millisecond, nil},
		"wait":          {"sleep 1000 & wait", 300 * time.Millisecond, nil},
		"tail":          {"tail -f /dev/null", 300 * time.Millisecond, nil},
		"no more input": {"tail /dev/zero", 300 * time.Millisecond, nil},
		"file": {"dd if=/dev/zero of=/data/big bs=1M; stat -c %s /data/big", 60 * time.Second, func(_ Result, out string) error {
			if out != "67108864\n" {
				return errors.New("a file of " + out)
			}
			return nil
		}},
		"doubled text":   {"a=xxxxxxxxxxxxxxxx; while :; do a=$a$a; done", 60 * time.Second, wantMemory},
		"captured":       {"x=$(cat /dev/zero)", 60 * time.Second, wantMemory},
		"deep recursion": {"f() { f; }; f", 60 * time.Second, wantMemory},
		"fork bomb":      {":(){ :|:& };:; sleep 100", 60 * time.Second, wantMemory},
		"braces": {"echo {1..1000000000}", 10 * time.Second, func(r Result, _ string) error {
			if r.Code != exitUsage {
				return errors.New("not refused")
			}
			return nil
		}},
		"braces of braces": {"eval 'echo {1..999}{1..999}{1..999}'", 10 * time.Second, func(r Result, out string) error {
			if r.Code == 0 || out != "" {
				return errors.New("not refused")
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			r, out, errs := c.within(test.limit, &Program{Args: []string{"bash", "-c", test.script}})
			if took := time.Since(begin); took > test.limit+5*time.Second {
				t.Errorf("it took %s", took)
			}
			if test.check == nil {
				if r.Code == 0 {
					t.Errorf("code 0, %q %q", out, errs)
				}
				return
			}
			if err := test.check(r, out); err != nil {
				t.Errorf("%v: %+v %.100q", err, r, errs)
			}
		})
	}
}

func wantMemory(r Result, _ string) error {
	if !r.Memory {
		return errors.New("it was not ended for what it takes")
	}
	return nil
}

// SIGTERM ends a program, unless it has a trap.
func TestTerminate(t *testing.T) {
	c := newContainer(t)
	for name, test := range map[string]struct {
		script     string
		code       int
		terminated bool
		out        string
	}{
		"default":  {"echo up; sleep 1000", 143, true, "up\n"},
		"trap":     {"v=bye; trap 'echo $v; exit 3' TERM; echo up; while :; do sleep 1; done", 3, false, "up\nbye\n"},
		"ignored":  {"trap '' TERM; echo up; sleep 0.5; echo done", 0, false, "up\ndone\n"},
		"reset":    {"trap 'exit 3' TERM; trap - TERM; echo up; sleep 1000", 143, true, "up\n"},
		"exit too": {"trap 'echo out' EXIT; echo up; exit 5", 5, false, "up\nout\n"},
	} {
		t.Run(name, func(t *testing.T) {
			up := make(chan struct{})
			terminate := make(chan struct{})
			stdout := &signalWriter{up: up}
			p := &Program{Args: []string{"sh", "-c", test.script}, Files: c.files, Stdout: stdout, Stderr: &c.stderr, Terminate: terminate}
			done := make(chan Result)
			go func() { done <- p.Run(t.Context()) }()
			<-up
			if test.code != 5 {
				close(terminate)
			}
			r := <-done
			if r.Code != test.code || r.Terminated != test.terminated || stdout.take() != test.out {
				t.Errorf("%+v %q", r, stdout.take())
			}
		})
	}
}

// signalWriter closes a channel at the first write.
type signalWriter struct {
	buffer
	once sync.Once
	up   chan struct{}
}

func (w *signalWriter) Write(b []byte) (int, error) {
	n, err := w.buffer.Write(b)
	w.once.Do(func() { close(w.up) })
	return n, err
}

// A program that is not here is stood for where it would take the shell's place, and not found elsewhere.
func TestStandIn(t *testing.T) {
	c := newContainer(t)
	for script, want := range map[string]string{
		"exec nginx -g daemon":          "nginx -g daemon",
		"echo x; nginx -v":              "nginx -v",
		"[ -d /data ] && exec nginx":    "nginx",
		"true && nginx":                 "nginx",
		"sh -c 'exec nginx'":            "nginx",
		"env A=1 nginx":                 "nginx",
		"nginx; echo after":             "",
		"nginx & wait":                  "",
		"if nginx; then echo yes; fi":   "",
		"nginx | cat":                   "",
		"x=$(nginx)":                    "",
		"until nginx; do exit 1; done ": "",
	} {
		got := ""
		p := &Program{Args: []string{"sh", "-c", script}, StandIn: func(_ context.Context, args []string) int {
			got = strings.Join(args, " ")
			return 0
		}}
		r, _, _ := c.within(10*time.Second, p)
		if got != want {
			t.Errorf("%s: stood for %q, want %q", script, got, want)
		}
		if !r.Unknown {
			t.Errorf("%s: %+v", script, r)
		}
	}
}

// A shell reads commands from its input, with and without a terminal.
func TestInput(t *testing.T) {
	c := newContainer(t)
	r, out, errs := c.within(10*time.Second, &Program{Args: []string{"sh"}, Stdin: strings.NewReader("x=1\necho $x\nfor i in a b; do\necho $i\ndone\nexit 7\necho no\n")})
	if out != "1\na\nb\n" || r.Code != 7 {
		t.Errorf("%+v %q %q", r, out, errs)
	}
	r, out, errs = c.within(10*time.Second, &Program{Args: []string{"cat"}, Stdin: strings.NewReader("text")})
	if out != "text" || r.Code != 0 {
		t.Errorf("%+v %q %q", r, out, errs)
	}
	terminal := &Terminal{}
	terminal.Resize(0, 0)
	r, out, errs = c.within(10*time.Second, &Program{Args: []string{"sh"}, Stdin: strings.NewReader("cd /data\recho $((6*7))\r\x04"), Terminal: terminal})
	if !strings.Contains(out, "42\r\n") || !strings.Contains(out, "/data # ") || r.Code != 0 {
		t.Errorf("%+v %q %q", r, out, errs)
	}
}

func TestInterprets(t *testing.T) {
	c := newContainer(t)
	if err := os.WriteFile(filepath.Join(c.host, "conf", "run.sh"), []byte("#!/usr/bin/env bash\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]bool{
		"sh": true, "/bin/bash": true, "sleep": true, "/usr/bin/cat": true, "/conf/run.sh": true, "echo": true, "busybox sh": true, "tini -- sleep 1": true,
		"nginx": false, "/app/sh": false, "/conf/app.conf": false, "/data": false, "kill-process": true, "": false,
	} {
		if got := (&Program{Args: strings.Fields(command), Files: c.files}).Interprets(); got != want {
			t.Errorf("%q: %t", command, got)
		}
	}
}

// Programs that run at a time do not see each other's output.
func TestAtATime(t *testing.T) {
	c := newContainer(t)
	const times = 100
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			var out, errs buffer
			word := strings.Repeat(string(rune('a'+n)), 8000)
			p := &Program{Args: []string{"sh", "-c", fmt.Sprintf("w=%s; for i in $(seq %d); do echo $w; printf '%%s\\n' $w; done", word, times)}, Files: c.files, Stdout: &out, Stderr: &errs}
			p.Run(t.Context())
			if got := out.take(); got != strings.Repeat(word+"\n", 2*times) {
				t.Errorf("program %d prints something else, or of others: %d bytes; %q", n, len(got), errs.take())
			}
		})
	}
	all.Wait()
}
