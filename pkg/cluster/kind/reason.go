package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kind/pkg/exec"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// reason reduces kind's error to the few lines that matter, from the failed command and from the nodes.
func (c *Cluster) reason(ctx context.Context, err error, l *logger) error {
	if _, ok := errors.AsType[*coded.Error](err); ok {
		return err
	}
	var said []string
	if run := exec.RunErrorForError(err); run != nil {
		said = strings.Split(string(run.Output), "\n")
	}
	all := strings.Join(said, "\n")
	switch {
	case strings.Contains(all, "port is already allocated"), strings.Contains(all, "address already in use"):
		return coded.New(PortTaken, "choose another port, or none: then a free one is used", reporting(said, 2), "the API server's port, or one of the kind configuration's extraPortMappings, is in use")
	case strings.Contains(all, "unable to apply caps"):
		return coded.New(CreateFailed, "hack/kind-node/dockerd FOLDER starts a Docker daemon that can", reporting(said, 1),
			"this host lacks a capability that Docker requires, so it cannot run nodes")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "cluster %s: kind gave up while %s", c.Name(), stepOr(l.step()))
	starved := false
	for _, line := range append(significant(said, 4), c.journals(ctx)...) {
		b.WriteString("\n  " + line)
		starved = starved || strings.Contains(line, "inotify") || strings.Contains(line, "too many open files")
	}
	try := "the same with --retain keeps the nodes and their logs"
	if c.opts.Retain {
		try = "read the logs, also in the nodes: " + c.rt.Name() + " exec -it " + c.machines[0].container + " journalctl -u kubelet"
	}
	if starved {
		try = inotifyTry + ": this host has no inotify instances left, which all its clusters share\n" + try
	}
	if errors.Is(err, context.DeadlineExceeded) || len(said) == 0 {
		return coded.New(CreateFailed, try, err, "%s", b.String())
	}
	return coded.New(CreateFailed, try, nil, "%s", b.String())
}

func stepOr(step string) string {
	if step == "" {
		return "beginning"
	}
	return step
}

// reporting returns the last significant lines as an error.
func reporting(said []string, most int) error {
	return errors.New(strings.Join(significant(said, most), "; "))
}

// Lines with a failure, and those that only look like one: klog's for information, Go's stacks.
var (
	bad    = regexp.MustCompile(`(?i)\berror\b|fail|unable|timed out|timeout|not healthy|unhealthy|denied|refused|no space|not permitted|cannot`)
	chatty = regexp.MustCompile(`^[IW]\d{4} |^\s*(/|k8s\.io/|github\.com/|runtime\.|main\.|goroutine |sigs\.k8s\.io/)|^\s*$`)
)

// significant returns the last lines, at most most, that report a failure, or else the last lines.
func significant(said []string, most int) []string {
	var all, last []string
	for _, line := range said {
		if chatty.MatchString(line) || strings.HasPrefix(line, "[") && !strings.Contains(line, "check]") { // a phase of kubeadm's
			continue
		}
		line = strings.TrimSpace(line)
		last = append(last, line)
		if bad.MatchString(line) && !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	if len(all) == 0 {
		all = last
	}
	return all[max(0, len(all)-most):]
}

// klogBad is the prefix of an error in a journal.
var klogBad = regexp.MustCompile(`^[EF]\d{4} [\d:.]+\s+\d+ `)

// journals returns a few error lines of each node that can be asked.
func (c *Cluster) journals(ctx context.Context) []string {
	var all []string
	for _, m := range c.machines {
		known, err := c.rt.Inspect(ctx, m.container)
		if err != nil {
			continue // not created yet
		}
		if !known.Running() {
			out := &bytes.Buffer{}
			_ = c.rt.Do(ctx, runtime.Call{Args: []string{"logs", "--tail", "20", m.container}, Stdout: out, Stderr: out})
			all = append(all, fmt.Sprintf("container %s has ended (%s, exit code %d)", m.container, known.Status, known.ExitCode))
			for _, line := range significant(strings.Split(out.String(), "\n"), 2) {
				all = append(all, m.container+": "+line)
			}
			continue
		}
		var out bytes.Buffer
		err = c.rt.Exec(ctx, m.container, nil, &out, nil, "journalctl", "--unit=kubelet", "--lines=300", "--no-pager", "--output=cat")
		if err != nil {
			continue
		}
		var errs []string
		for line := range strings.Lines(out.String()) {
			if at := klogBad.FindString(line); at != "" {
				line = shorten(strings.TrimSpace(line[len(at):]), 300)
				errs = append(slices.DeleteFunc(errs, func(s string) bool { return s == line }), line) // the latest of each
			}
		}
		for _, line := range errs[max(0, len(errs)-2):] {
			all = append(all, m.container+": kubelet: "+line)
		}
	}
	const most = 8
	return all[:min(len(all), most)]
}

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " …"
}
