package vcsim

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/session"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/signals"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Name is the name under which the program is vcsim.
const Name = "vcsim"

// IsName reports whether the program was started as vcsim: a link of that name.
func IsName(arg0 string) bool { return strings.TrimSuffix(filepath.Base(arg0), ".exe") == Name }

// program is one run.
type program struct {
	*Flags
	env, listen, username, password, load string
	streams                               *iostreams.Streams
}

// newProgram returns one with its flags, to be parsed.
func newProgram(streams *iostreams.Streams) (*program, *flag.FlagSet) {
	p := &program{Flags: New(), streams: streams}
	f := flag.NewFlagSet(Name, flag.ContinueOnError)
	f.SetOutput(streams.Err)
	p.Bind(f)
	f.StringVar(&p.env, "E", "-", "write the variables to `FILE` or a pipe (\"-\": standard output)")
	f.StringVar(&p.listen, "l", "127.0.0.1:8989", "`ADDRESS` to listen on")
	f.StringVar(&p.username, "username", "", "name of the only user, or a `FILE` with it (default: every login is accepted)")
	f.StringVar(&p.password, "password", "", "password of --username, or a `FILE` with it")
	f.StringVar(&p.load, "load", "", "load the inventory in `FOLDER`")
	return p, f
}

// Main runs vcsim until a signal, and returns its exit status: 0 after a signal, 1 for what cannot be, 2 for a flag that is not.
func Main(ctx context.Context, args []string, streams *iostreams.Streams) int {
	ctx, release := signals.Context(ctx)
	defer release()
	p, f := newProgram(streams)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	switch f.Arg(0) {
	case "uuidgen":
		fmt.Fprintln(streams.Out, uuid.NewString())
		return 0
	case "version":
		fmt.Fprintf(streams.Out, "Build Version: %s\nBuild Commit: %s\n", build.Version(), build.Commit())
		return 0
	}
	if err := p.run(ctx); err != nil {
		fmt.Fprintln(streams.Err, Name+":", err)
		return 1
	}
	return 0
}

// server is what runs: a vCenter or a host.
type server struct {
	url   *url.URL
	close func() error
}

func (p *program) run(ctx context.Context) (err error) {
	login, err := p.login()
	if err != nil {
		return err
	}
	front, closeTrace, err := p.Front(p.streams.Err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeTrace()) }()
	front.AnyLogin = login == nil
	address, err := address(p.listen, login == nil)
	if err != nil {
		return err
	}
	start := p.vcenter
	if p.ESX {
		start = p.host
	}
	s, err := start(ctx, address, login, front)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.url.User = login
	if login == nil {
		s.url.User = url.UserPassword("user", "pass")
	}
	if err := p.announce(s.url); err != nil {
		return err
	}
	ctx, stop := p.UntilKey(ctx, p.streams)
	defer stop()
	<-ctx.Done()
	return nil
}

// UntilKey returns a context that also ends with a key on standard input, or its end, if a flag asks for it.
func (f *Flags) UntilKey(ctx context.Context, streams *iostreams.Streams) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	if f.StdinExit {
		fmt.Fprintln(streams.Out, "Press any key to exit")
		go func() {
			_, _ = streams.In.Read(make([]byte, 1))
			stop()
		}()
	}
	return ctx, stop
}

// login returns the only login, nil if every one is accepted. Name and password may be paths of files.
func (p *program) login() (*url.Userinfo, error) {
	if p.username == "" {
		return nil, nil
	}
	user, err := session.Secret(p.username)
	if err != nil {
		return nil, err
	}
	password, err := session.Secret(p.password)
	if err != nil {
		return nil, err
	}
	return url.UserPassword(user, password), nil
}

// address returns the address to listen on. Without a host it is this machine's alone. Every interface is refused, and so is what other
// machines can reach if every login is accepted.
func address(given string, open bool) (string, error) {
	host, port, err := net.SplitHostPort(given)
	if err != nil {
		return "", err
	}
	if host == "" {
		return net.JoinHostPort("127.0.0.1", port), nil
	}
	ip := net.ParseIP(host)
	if open && host != "localhost" && ip != nil && !ip.IsUnspecified() && !ip.IsLoopback() {
		return "", fmt.Errorf("-l %s: other machines could log in there with any password: want -username and -password", given)
	}
	if ip != nil && ip.IsUnspecified() {
		return "", fmt.Errorf("-l %s: want the one address that clients use, such as 127.0.0.1:%s", given, port)
	}
	return given, nil
}

// announce prints the variables that point govc at the server, and this process.
func (p *program) announce(u *url.URL) (err error) {
	out := p.streams.Out
	if p.env != "-" {
		file, err := os.OpenFile(p.env, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	_, err = fmt.Fprintf(out, "export GOVC_URL=%s GOVC_SIM_PID=%d\n", u, os.Getpid())
	return err
}

// vcenter starts a vCenter.
func (p *program) vcenter(ctx context.Context, address string, login *url.Userinfo, front sim.Vcsim) (*server, error) {
	o := sim.Options{Addresses: []string{address}, Login: login, Vcsim: front}
	if login == nil {
		o.Login = url.UserPassword("user", "pass")
	}
	var err error
	if p.load == "" {
		o.Topology, err = p.Topology()
	} else {
		o.Topology, o.Saved, err = open(p.load)
	}
	if err != nil {
		return nil, err
	}
	s, err := sim.New(ctx, o)
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory() // of the start
	v := s.VCenters()[0]
	u := v.URL()
	if port := v.Tunnel(); port != 0 {
		u.RawQuery = fmt.Sprintf("GOVMOMI_TUNNEL_PROXY_PORT=%d", port)
	}
	return &server{url: u, close: func() error { return s.Close(context.WithoutCancel(ctx)) }}, nil
}

func open(dir string) (*topology.Topology, []*sim.Saved, error) {
	saved, err := sim.OpenSaved(dir)
	if err != nil {
		return nil, nil, err
	}
	t, err := sim.TopologyOf(saved)
	return t, []*sim.Saved{saved}, err
}

// host starts a standalone host.
func (p *program) host(ctx context.Context, address string, login *url.Userinfo, front sim.Vcsim) (*server, error) {
	if p.load != "" {
		return nil, errors.New("-esx has no saved inventory: -load is a vCenter's")
	}
	e, err := p.StartHost(ctx, address, login, front)
	if err != nil {
		return nil, err
	}
	return &server{url: e.URL(), close: e.Close}, nil
}

// StartHost starts the standalone host that the flags describe.
func (f *Flags) StartHost(ctx context.Context, address string, login *url.Userinfo, front sim.Vcsim) (*sim.ESX, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	e, err := sim.StartESX(sim.ESXOptions{
		Listener: l, Datastores: f.of("ds"), VMs: f.of("vm"), Autostart: f.Autostart, Login: login, Vcsim: front,
	})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return e, nil
}
