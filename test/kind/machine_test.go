package kind

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machine is what there is on this machine that a sandbox may have made, by what it is: one line each.
type machine map[string][]string

// look takes stock. Of processes and loop devices only those count in whose command line or file mark is: others have theirs.
// With a daemon that others use, too, the same goes for containers, by what is mounted there; networks and volumes tell
// nothing of the kind, and do not count then.
func look(t *testing.T, mark string) machine {
	t.Helper()
	m := machine{}
	list := map[string][]string{
		"container": {"ps", "--all", "--no-trunc", "--format", "{{.Names}} {{.Mounts}}"},
		"network":   {"network", "ls", "--format", "{{.Name}}"},
		"volume":    {"volume", "ls", "--format", "{{.Name}}"},
	}
	if !engine.own() {
		delete(list, "network")
		delete(list, "volume")
	}
	for what, args := range list {
		out, err := docker(args...)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out) {
			name, mounts, _ := strings.Cut(strings.TrimSpace(line), " ")
			if engine.own() || strings.Contains(mounts, mark) {
				m[what] = append(m[what], name)
			}
		}
	}
	out, err := exec.Command("losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE").CombinedOutput()
	if err != nil {
		t.Fatalf("losetup: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, mark) {
			m["loop device"] = append(m["loop device"], strings.TrimSpace(line))
		}
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), mark) && filepath.Base(filepath.Dir(path)) != fmt.Sprint(os.Getpid()) {
			m["process"] = append(m["process"], strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return m
}

// left is what there is now and was not before.
func (m machine) left(before machine) []string {
	var all []string
	for what, things := range m {
		for _, thing := range things {
			if !slices.Contains(before[what], thing) {
				all = append(all, what+" "+thing)
			}
		}
	}
	slices.Sort(all)
	return all
}

// filter is the packet filter's chains and policies, and whether this machine forwards.
func filter() (string, error) {
	var b strings.Builder
	for _, tool := range []string{"iptables", "ip6tables"} {
		for _, table := range []string{"filter", "nat", "raw", "mangle"} {
			out, err := exec.Command(tool, "-w", "-t", table, "-S").Output()
			if err != nil {
				if _, there := exec.LookPath(tool); there != nil {
					continue
				}
				return "", fmt.Errorf("%s -t %s -S: %w", tool, table, err)
			}
			fmt.Fprintf(&b, "%s %s\n%s", tool, table, out)
		}
	}
	forwards, err := os.ReadFile("/proc/sys/net/ipv4/ip_forward")
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "forwards %s", forwards)
	return b.String(), nil
}

// unchanged returns an error for a difference in the packet filter. With another Docker on the host it checks nothing.
func unchanged(before string) error {
	if strings.Contains(before, "-N DOCKER") {
		fmt.Fprintln(os.Stderr, "test/kind: another Docker runs, or ran: the packet filter is not looked at")
		return nil
	}
	after, err := filter()
	if err != nil || before == after {
		return err
	}
	var other []string
	for line := range strings.Lines(after) {
		if !strings.Contains(before, line) {
			other = append(other, "+"+line)
		}
	}
	for line := range strings.Lines(before) {
		if !strings.Contains(after, line) {
			other = append(other, "-"+line)
		}
	}
	return errors.New("the packet filter is not what it was:\n" + strings.Join(other, ""))
}
