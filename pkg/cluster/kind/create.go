package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/exec"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Create creates the cluster and returns when all of its nodes are registered, ready or not. If it fails, or ctx ends, it
// removes everything again, unless Options.Retain is set. It may be called again.
func (c *Cluster) Create(ctx context.Context) (err error) {
	s := speak(c.opts.Progress)
	defer s.stop()
	if err := c.prepare(ctx, s.say); err != nil {
		return err
	}
	l := &logger{say: s.say}
	begin := time.Now()
	err = c.make(ctx, l)
	c.took = time.Since(begin)
	if err == nil {
		s.say("writing the kubeconfig")
		err = c.connect(l)
	}
	if err == nil {
		err = c.registered(ctx, s.say)
	}
	if err == nil {
		return nil
	}
	// ctx may have ended, but the removal must still run.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), DeleteTime)
	defer cancel()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	} else {
		s.say("creating cluster %s failed: reading the nodes' logs", c.Name())
		err = c.reason(after, err, l)
	}
	if c.opts.Retain {
		logs := filepath.Join(c.opts.Dir, "logs", "kind")
		if e := c.Logs(after, logs); e != nil {
			return errors.Join(err, fmt.Errorf("logs of cluster %s: %w", c.Name(), e))
		}
		s.say("kept cluster %s, as requested; its logs are in %s", c.Name(), logs)
		return err
	}
	s.say("removing the remains of cluster %s", c.Name())
	return errors.Join(err, c.Delete(after))
}

// prepare runs all steps before kind.
func (c *Cluster) prepare(ctx context.Context, say sayf) (err error) {
	if c.rt == nil {
		say("looking for a container runtime")
		if c.rt, err = Detect(ctx); err != nil {
			return err
		}
	} else if err := local(ctx, c.rt); err != nil {
		return err
	}
	say("checking node image %s", c.opts.Image)
	if err := c.image(ctx, say); err != nil {
		return err
	}
	if err := c.claim(ctx, say); err != nil {
		return err
	}
	if c.opts.Host == (runtime.Capacity{}) {
		if c.opts.Host, err = c.rt.Capacity(ctx); err != nil {
			return err
		}
		if err := c.render(); err != nil { // the nodes' reservations depend on it
			return err
		}
	}
	if few := inotify(inotifyFile, len(c.machines)); few != "" {
		say("%s", few)
	}
	if err := c.writeFiles(); err != nil {
		return err
	}
	if err := ensureNetwork(ctx, c.rt); err != nil {
		return errors.Join(err, c.removeFiles())
	}
	return nil
}

// make runs kind's creation. kind cannot be canceled: when ctx ends, make removes its containers until the steps of kind
// have failed and it has returned.
func (c *Cluster) make(ctx context.Context, l *logger) error {
	// kind always writes a kubeconfig; keep it out of the user's.
	scratch := filepath.Join(c.opts.Dir, "kubeconfig.kind")
	defer func() {
		_ = os.Remove(scratch) // best effort: it is a copy
		_ = os.Remove(scratch + ".lock")
	}()
	made := make(chan error, 1)
	go func() {
		made <- c.provider(l).Create(c.Name(),
			kindcluster.CreateWithRawConfig(c.config),
			kindcluster.CreateWithKubeconfigPath(scratch),
			kindcluster.CreateWithRetain(true), // the nodes' logs have the reason of a failure
		)
	}()
	select {
	case err := <-made:
		return err
	case <-ctx.Done():
	}
	l.say("stopping: waiting for kind to give up")
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), DeleteTime)
	defer cancel()
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	for {
		if err := c.takeAway(after); err != nil && after.Err() == nil {
			l.say("%v", err)
		}
		select {
		case <-made:
			return context.Cause(ctx)
		case <-after.Done():
			return fmt.Errorf("%w; kind has not given up in %v", context.Cause(ctx), DeleteTime)
		case <-again.C:
		}
	}
}

// takeAway makes kind's steps fail: it removes the containers, or with Retain only kills them.
func (c *Cluster) takeAway(ctx context.Context) error {
	left, err := Leftovers(ctx, c.rt, c.opts.Name)
	names := ours(left, c.opts.Dir)
	if err != nil || !c.opts.Retain {
		return errors.Join(err, c.rt.Remove(ctx, names...))
	}
	for _, name := range names {
		err := c.rt.Kill(ctx, name)
		if err != nil && !coded.Is(err, runtime.ContainerMissing) && !coded.Is(err, runtime.ContainerStopped) {
			return err
		}
	}
	return nil
}

func (c *Cluster) provider(l *logger) *kindcluster.Provider {
	option := kindcluster.ProviderWithDocker()
	switch c.rt.Kind() {
	case "podman":
		option = kindcluster.ProviderWithPodman()
	case "nerdctl":
		option = kindcluster.ProviderWithNerdctl(c.rt.Name())
	}
	return kindcluster.NewProvider(kindcluster.ProviderWithLogger(l), option)
}

// Detect finds the container runtime, as [runtime.Detect] does, and rejects one with a remote daemon: the vCenters, the
// disks and the nodes' identities are on this host.
func Detect(ctx context.Context) (*runtime.Runtime, error) {
	rt, err := runtime.Detect(ctx)
	if err != nil {
		return nil, err
	}
	return rt, local(ctx, rt)
}

func local(ctx context.Context, rt *runtime.Runtime) error {
	if host := rt.Remote(ctx); host != "" {
		return coded.New(RuntimeRemote, "run the sandbox on that host\nor unset DOCKER_HOST, or docker context use default", nil,
			"%s uses a daemon on another host (%s): nodes could not reach vCenters and disks of this one", rt.Name(), host)
	}
	return nil
}

// connect writes the admin's kubeconfig and creates the clients.
func (c *Cluster) connect(l *logger) error {
	text, err := c.provider(l).KubeConfig(c.Name(), false)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if err := writeKubeconfig(c.Kubeconfig(), c.Context(), text); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if c.rest, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig()); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	// The sandbox sets up a cluster in one go; the default rate limit would only delay it.
	c.rest.QPS, c.rest.Burst = 200, 400
	c.rest.UserAgent = "vsphere-sandbox"
	c.client, err = kubernetes.NewForConfig(c.rest)
	return err
}

// writeKubeconfig writes kind's kubeconfig, for its owner only, with our context name in place of kind's ("kind-" and the
// cluster's).
func writeKubeconfig(path, context, text string) error {
	from, err := clientcmd.Load([]byte(text))
	if err != nil {
		return err
	}
	current := from.Contexts[from.CurrentContext]
	if current == nil {
		return fmt.Errorf("kind's kubeconfig has no context %q", from.CurrentContext)
	}
	out := clientcmdapi.NewConfig()
	out.Clusters[context], out.AuthInfos[context] = from.Clusters[current.Cluster], from.AuthInfos[current.AuthInfo]
	out.Contexts[context] = &clientcmdapi.Context{Cluster: context, AuthInfo: context}
	out.CurrentContext = context
	if out.Clusters[context] == nil || out.AuthInfos[context] == nil {
		return fmt.Errorf("kind's kubeconfig has no cluster %q or no user %q", current.Cluster, current.AuthInfo)
	}
	return clientcmd.WriteToFile(*out, path)
}

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
