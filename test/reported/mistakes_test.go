package reported

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// mistake is a vsphere.conf that cannot be meant, and what a message has to have in it for people to find out.
type mistake struct {
	text string
	want []string
}

func mistakeReports() []report {
	mistakes := []struct {
		saw    string
		issues []string
		mistake
	}{
		{"a mistake in YAML is told as one in INI", []string{"CAPV #1473", "csi #1570"}, mistake{
			"global:\n  user: me\n\tpassword: x\nvcenter:\n  us: {server: 127.0.0.1}\n", []string{".conf:3", "tab"},
		}},
		{"a user without a password is told as a mistake in INI", []string{"CAPV #1473"}, mistake{
			"global:\n  user: me\nvcenter:\n  us: {server: 127.0.0.1}\n", []string{".conf:4", "password"},
		}},
		{"no vCenter in the file, and the message names neither", []string{"csi #1570"}, mistake{
			"global:\n  user: me\n  password: x\n", []string{"vCenter", ".conf"},
		}},
		{"kebab-case keys in YAML are ignored", []string{"#1455"}, mistake{
			"global:\n  user: me\n  password: x\n  insecure-flag: true\nvcenter:\n  us: {server: 127.0.0.1, port: 1}\n",
			[]string{".conf:4", "insecure-flag", "insecureFlag"},
		}},
	}
	var all []report
	for i, m := range mistakes {
		all = append(all, report{saw: m.saw, issues: m.issues, run: func(ctx context.Context, w *ground) error {
			return m.check(ctx, w, fmt.Sprintf("mistake-%d.conf", i+1))
		}})
	}
	return all
}

// check runs a CCM with the mistake. It must exit soon, with the reason in one of its last lines.
func (m mistake) check(ctx context.Context, w *ground, name string) error {
	const most = 20 * time.Second
	file := filepath.Join(w.Dir, name)
	if err := os.WriteFile(file, []byte(m.text), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	ccm := exec.CommandContext(ctx, w.binary, "--cloud-provider=vsphere", "--cloud-config="+file,
		"--kubeconfig="+w.Cluster.Kubeconfig(), "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0")
	out, err := ccm.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("it runs on after %s", most)
	case err == nil:
		return fmt.Errorf("exit status 0")
	}
	for line := range strings.Lines(string(out)) {
		if m.in(line) {
			return nil
		}
	}
	return fmt.Errorf("no line has %q: …%s", m.want, tail(string(out)))
}

func (m mistake) in(line string) bool {
	for _, want := range m.want {
		if !strings.Contains(line, want) {
			return false
		}
	}
	return true
}

// tail is the last line that says something.
func tail(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "F") || strings.Contains(line, "rror") {
			return line
		}
	}
	return lines[len(lines)-1]
}
