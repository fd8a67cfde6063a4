package ccm

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/installed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/supervisor"
)

const (
	// host is the address of the probes and the metrics of processes.
	host = "127.0.0.1"
	// configPoll is how often a process reads its file. The file changes at once with the ConfigMap.
	configPoll = 500 * time.Millisecond
)

// Background groups.
const (
	buildGroup   = "ccm watch"
	restartGroup = "ccm restart"
	healthGroup  = "ccm health"
	leaderGroup  = "ccm leader"
	tokenGroup   = "ccm token"
)

// Cluster is the cluster that processes connect to. A [cluster.Cluster] implements it.
type Cluster interface {
	Client() kubernetes.Interface
	// Token writes a kubeconfig for the API server at addr, with the token in a file.
	Token(path, addr, tokenFile string) error
}

// Processes runs cloud controller managers as processes of this host. It implements [Manager].
type Processes struct {
	Replicas
	Speed      pace.Speed
	Causes     *causality.Finder
	Ongoing    *causality.Ongoing
	Background *background.Groups
	Proxies    *components.Proxies
	Tokens     *accounts.Tokens
	Cluster    func() Cluster
	// Place is where the objects of the processes are in the cluster.
	Place Place
	// ConfigFile is the path of vsphere.conf.
	ConfigFile string
	// Args are more arguments of this project's program.
	Args []string
	// Routed is the network of all pods, if the program makes routes to their nodes; "" otherwise.
	Routed string
	// Guest is the place of a guest cluster's programs; nil without a Supervisor.
	Guest func() (supervisor.Environment, error)
	// Unhealthy is called for a replica that does not become healthy in time, more than once.
	Unhealthy func(text string)

	// Guarded by changing.
	granted    []runtime.Object
	grantedTo  Options
	adopted    bool // a token of the user's ServiceAccount is kept fresh
	leaderSeen bool // the Lease is watched

	// Guarded by mu.
	elect      bool
	restarting uint64 // the event for which replicas are replaced; 0 for none
	client     *http.Client
}

// Account returns the ServiceAccount as which the processes act.
func (p *Processes) Account() accounts.Account {
	o, _ := p.current()
	return p.account(o)
}

func (p *Processes) tokenFile() string { return p.Dir.Path("ccm", "token") }

func (p *Processes) kubeconfig(component string) string {
	return p.Dir.Path("ccm", component+".kubeconfig")
}

func (p *Processes) certificate() string { return p.Dir.Path("ccm", "serving.crt") }

func (p *Processes) key() string { return p.Dir.Path("ccm", "serving.key") }

// Start implements [Manager]. The processes act with a token of the CCM's ServiceAccount, which has the rights of the program
// only. With [Options.None] nothing starts until [Processes.Swap].
func (p *Processes) Start(ctx context.Context) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	p.update(func() { p.stopped, p.list = false, nil }) // it may have been stopped for a restore
	p.adopted, p.leaderSeen = false, false
	if err := p.certify(); err != nil {
		return err
	}
	p.Background.Run(healthGroup, p.watchHealth)
	if p.Options.None {
		p.update(func() { p.running = NoCCM() })
		return nil
	}
	o := p.Options.WithDefaults()
	elect := o.elects()
	if o.Watch != "" && o.Program.Path == o.Watch {
		var err error
		if o.Program, err = program.Keep(ctx, p.builds(), o.Program); err != nil {
			return err
		}
	}
	if err := p.grant(ctx, o, elect); err != nil {
		return err
	}
	if err := p.Tokens.Project(ctx, p.account(o)); err != nil {
		return err
	}
	if err := p.launch(o, elect, 0); err != nil {
		return err
	}
	if o.Watch != "" {
		p.Background.Run(buildGroup, func(ctx context.Context) { p.watchBuilds(ctx, o.Watch) })
	}
	return nil
}

// certify makes the certificate with which replicas serve probes and metrics. Its authority signs nothing else.
func (p *Processes) certify() error {
	ca, err := cert.NewCA("vsphere-sandbox " + Component)
	if err != nil {
		return err
	}
	pair, err := ca.Sign(cert.Leaf{CommonName: Component, IPs: []net.IP{net.ParseIP(host)}})
	if err != nil {
		return err
	}
	p.trust(ca.Pool())
	return errors.Join(os.WriteFile(p.certificate(), pair.Cert, 0o600), os.WriteFile(p.key(), pair.Key, 0o600))
}

// Stop implements [Manager].
func (p *Processes) Stop(ctx context.Context) error {
	var errs []error
	for _, group := range []string{buildGroup, restartGroup} { // they start processes
		errs = append(errs, p.Background.End(ctx, group))
	}
	p.stop()
	p.changing.Lock()
	errs = append(errs, stopAll(ctx, p.all()))
	p.changing.Unlock()
	for _, group := range []string{healthGroup, leaderGroup, tokenGroup} {
		errs = append(errs, p.Background.End(ctx, group))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client != nil {
		p.client.CloseIdleConnections()
	}
	return errors.Join(errs...)
}

// stopAll stops replicas at the same time.
func stopAll(ctx context.Context, list []*replica) error {
	var all []*child.Child
	for _, r := range list {
		all = append(all, r.child)
	}
	return child.StopAll(ctx, all...)
}

func (p *Processes) arguments(r *replica, o Options, elect bool) []string {
	if o.Installed != nil {
		return p.electing(p.installedArguments(r, o), o, elect)
	}
	args := []string{
		"--cloud-provider=" + p.mode(o),
		"--cloud-config=" + p.ConfigFile,
		"--kubeconfig=" + p.kubeconfig(r.name),
		// The sandbox reads probes and metrics without a token, so that no token has to be reviewed.
		"--bind-address=" + host,
		"--secure-port=" + r.port,
		"--tls-cert-file=" + p.certificate(),
		"--tls-private-key-file=" + p.key(),
		"--authentication-skip-lookup=true",
		"--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics",
	}
	args = append(args, p.Speed.CCMArgs()...)
	if p.mode(o) == paravirtualMode {
		args = append(args, p.guestArguments(o)...)
	}
	if p.Routed != "" {
		args = append(args, "--configure-cloud-routes=true", "--allocate-node-cidrs=true", "--cluster-cidr="+p.Routed)
	}
	if o.Program.Own {
		args = append(append(args, p.ownPeriods()...), "--concurrent-node-syncs=4")
		args = append(args, p.Args...)
	} else {
		args = append(args, "--v=2") // as in upstream's manifests
	}
	return p.electing(args, o, elect)
}

// ownPeriods are periods that only this project's program has.
func (p *Processes) ownPeriods() []string {
	return []string{"--tag-refresh-period=" + p.Speed.Of(pace.TagRefresh).String(), "--config-poll-period=" + configPoll.String()}
}

// electing adds the arguments of the election of a leader, and the user's.
func (p *Processes) electing(args []string, o Options, elect bool) []string {
	if !elect { // one process, which the sandbox starts again: it needs no Lease
		return append(append(args, "--leader-elect=false"), o.Args...)
	}
	lease, renew, retry := p.Speed.Lease()
	args = append(args,
		"--leader-elect=true",
		"--leader-elect-lease-duration="+lease.String(),
		"--leader-elect-renew-deadline="+renew.String(),
		"--leader-elect-retry-period="+retry.String())
	if o.Installed == nil { // otherwise it is where the release has it
		args = append(args, "--leader-elect-resource-namespace="+p.Place.Namespace)
	}
	return append(args, o.Args...)
}

// spec returns the process of a replica.
func (p *Processes) spec(r *replica, o Options, elect bool) child.Spec {
	args, env := p.arguments(r, o, elect), Environ()
	if o.Installed != nil {
		env = append(env, o.Installed.Env()...)
	}
	spec := p.Components.Spec(child.Spec{
		Name: r.name, Path: o.Program.Path, Env: append(env, o.Env...), Args: append([]string{Command}, args...),
	})
	if o.Program.Path != "" {
		spec.Args = args // the program has no commands
	}
	if p.mode(o) == paravirtualMode {
		spec = p.inGuest(spec, o)
	}
	return spec
}

// freePort returns a port without a listener. A replica that finds the port taken gets another one.
func freePort() (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// launch starts all replicas, for the event cause (0: with the sandbox). None is running. The caller holds changing.
func (p *Processes) launch(o Options, elect bool, cause uint64) error {
	p.update(func() { p.running, p.elect, p.list = o, elect, nil })
	for n := range o.Replicas {
		if err := p.launchReplica(components.Replica(Component, n), cause); err != nil {
			return err
		}
	}
	return nil
}

// launchReplica starts a replica in place of the one with its name, or after all others. The caller holds changing.
func (p *Processes) launchReplica(name string, cause uint64) error {
	addr, err := p.Proxies.Addr(name)
	if err != nil {
		return err
	}
	if err := p.Cluster().Token(p.kubeconfig(name), addr, p.tokenFile()); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	r := &replica{name: name, port: port, started: time.Now(), reason: "starting"}
	if o, _ := p.current(); o.Installed != nil && slices.ContainsFunc(o.Installed.Listeners(), func(l installed.Listener) bool { return !l.TLS }) {
		if r.health, err = freePort(); err != nil {
			return err
		}
	}
	if info, err := os.Stat(p.Dir.Log(name)); err == nil {
		r.logFrom = info.Size()
	}
	p.mu.Lock()
	if p.stopped {
		p.mu.Unlock()
		return errStopping
	}
	if i := slices.IndexFunc(p.list, func(r *replica) bool { return r.name == name }); i >= 0 {
		p.list[i] = r
	} else {
		p.list = append(p.list, r)
	}
	o, elect := p.running, p.elect
	p.mu.Unlock()
	if elect {
		p.watchLeader()
	}
	first := true
	started := child.Start(p.spec(r, o, elect), func(ch child.Change) {
		because := uint64(0) // later changes have their own causes
		switch {
		case ch.State == child.Started && first:
			because, first = cause, false
		case ch.State == child.Stopped:
			because = p.restartCause()
		}
		p.Components.Note(ch, event.Object{Kind: "Component", Name: name}, because)
		p.childChanged(r, ch)
	})
	p.update(func() { r.child = started })
	return nil
}

// childChanged updates the state of a replica.
func (p *Processes) childChanged(r *replica, ch child.Change) {
	p.update(func() {
		switch ch.State {
		case child.Started:
			r.started = time.Now()
		case child.Exited:
			r.exits++
			r.exit = child.ExitText(ch, p.Dir.Log(r.name))
			r.healthy, r.leads, r.reason = false, false, "exited"
		case child.Stopped:
			r.healthy, r.leads, r.reason = false, false, "stopped"
		case child.Restarting:
			if r.healthy { // otherwise it has exited
				r.healthy, r.reason = false, "being started again"
			}
		case child.Starting:
		}
	})
	p.Components.Changed(r.name)
	taken := func(line string) bool {
		return strings.Contains(line, "address already in use") && strings.Contains(line, ":"+r.port)
	}
	if ch.State == child.Exited && slices.ContainsFunc(ch.Tail, taken) {
		p.Background.Run(restartGroup, func(ctx context.Context) { p.changePort(ctx, r) })
	}
}

// changePort starts a replica again with another port.
func (p *Processes) changePort(ctx context.Context, r *replica) {
	p.changing.Lock()
	defer p.changing.Unlock()
	if ctx.Err() != nil || p.find(r.name) != r {
		return // it has been replaced
	}
	if err := stopAll(ctx, []*replica{r}); err != nil {
		p.failed(err, "component", r.name)
	}
	if ctx.Err() == nil {
		if err := p.launchReplica(r.name, 0); err != nil {
			p.failed(err, "component", r.name)
		}
	}
}

// failed logs an error that no caller gets.
func (p *Processes) failed(err error, args ...any) {
	p.Logger.Error("cloud controller manager", append(args, "err", err)...)
}

// setRestartCause sets the event for which replicas are replaced, 0 for none.
func (p *Processes) setRestartCause(seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.restarting = seq
}

func (p *Processes) restartCause() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.restarting
}
