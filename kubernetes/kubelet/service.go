package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// service is the VM's CSI node service: the built-in one in this process, or a program of a user's.
type service interface {
	// Run serves until ctx ends.
	Run(ctx context.Context) error
	// Found is closed when the kubelet has found the service; nil if this is not known.
	Found() <-chan struct{}
}

// services runs the service that a file names, another one whenever the file changes.
type services struct {
	cfg    contract.Node
	client kubernetes.Interface
	log    *slog.Logger

	first   service
	running contract.CSIService
	found   <-chan struct{}
}

// newServices starts the first service, whose sockets then exist.
func newServices(ctx context.Context, cfg contract.Node, client kubernetes.Interface, log *slog.Logger) (*services, error) {
	s := &services{cfg: cfg, client: client, log: log}
	wanted, err := s.wanted()
	if err != nil {
		return nil, err
	}
	s.first, err = s.start(ctx, wanted)
	if err != nil {
		return nil, err
	}
	s.found = s.first.Found()
	return s, nil
}

// wanted reads the file.
func (s *services) wanted() (contract.CSIService, error) {
	if s.cfg.CSI.Service == "" {
		return contract.CSIService{}, nil
	}
	is, err := child.ReadConfig[contract.CSIService](s.cfg.CSI.Service)
	if errors.Is(err, fs.ErrNotExist) {
		return is, nil
	}
	return is, err
}

func (s *services) start(ctx context.Context, wanted contract.CSIService) (service, error) {
	s.running = wanted
	if wanted.Path == "" {
		return newCSI(ctx, s.cfg, s.client, nodeID(s.cfg, wanted))
	}
	return startProgram(ctx, s.cfg, wanted, s.log)
}

// lookInterval is the time between two looks at the file. A watch would take an inotify instance of every kubelet, and a user has
// few of them.
const lookInterval = 250 * time.Millisecond

// Run runs services until ctx ends. A service that cannot be started is tried again.
func (s *services) Run(ctx context.Context) error {
	if s.cfg.CSI.Service == "" {
		return s.first.Run(ctx)
	}
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	next := s.first
	for {
		var err error
		if err = s.until(ctx, next, look.C); err != nil || ctx.Err() != nil {
			return err
		}
		if next, err = s.again(ctx); err != nil {
			return err
		}
	}
}

// until runs a service until ctx ends or the file names another one.
func (s *services) until(ctx context.Context, is service, look <-chan time.Time) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- is.Run(ctx) }()
	stop := func() error {
		end()
		return <-ended
	}
	for {
		if wanted, err := s.wanted(); err == nil && !same(wanted, s.running) {
			return stop()
		}
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return stop()
		case <-look:
		}
	}
}

// startRetry is the time between attempts to start a service in place of another.
const startRetry = time.Second

func (s *services) again(ctx context.Context) (service, error) {
	for {
		wanted, err := s.wanted()
		var is service
		if err == nil {
			is, err = s.start(ctx, wanted)
		}
		if err == nil {
			s.log.Info("another CSI node service runs", "program", wanted.Path)
			return is, nil
		}
		s.log.Error("the CSI node service does not start", "err", err)
		select {
		case <-time.After(startRetry):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func same(a, b contract.CSIService) bool {
	return a.Path == b.Path && slices.Equal(a.Env, b.Env) && a.ByName == b.ByName
}

// nodeID is what the driver's controller knows the node by.
func nodeID(cfg contract.Node, is contract.CSIService) string {
	if is.ByName {
		return cfg.Name
	}
	return cfg.SystemUUID
}

// programService is the program of a user's, with the flags of this project's driver.
type programService struct {
	spec    contract.CSIService
	args    []string
	sockets []string
	log     *slog.Logger

	cmd   *exec.Cmd
	ended chan error
}

// serveTime bounds the time until a program has its sockets.
const serveTime = 10 * time.Second

// startProgram starts a program, and returns when its sockets exist.
func startProgram(ctx context.Context, cfg contract.Node, spec contract.CSIService, log *slog.Logger) (*programService, error) {
	dir := filepath.Join(cfg.RootDir, "plugins", names.Driver)
	p := &programService{spec: spec, log: log, sockets: []string{
		filepath.Join(dir, "csi.sock"), filepath.Join(cfg.RootDir, "plugins_registry", names.Driver+"-reg.sock"),
	}}
	p.args = []string{
		"--mode=node", "--backend=hollow", "--endpoint=unix://" + p.sockets[0], "--registration-socket=" + p.sockets[1],
		"--node-name=" + cfg.Name, "--node-id=" + nodeID(cfg, spec), "--by-id-dir=" + cfg.CSI.ByIDDir, "--state-dir=" + dir,
		"--boot=" + cfg.CSI.Boot, "--no-block=" + noBlock, "--pod-events=" + cfg.Kubeconfig,
		fmt.Sprintf("--topology=%t", cfg.CSI.Kubeconfig != ""), "--kubeconfig=" + cfg.CSI.Kubeconfig,
	}
	if cfg.CSI.MaxVolumes > 0 {
		p.args = append(p.args, "--max-volumes="+strconv.FormatInt(cfg.CSI.MaxVolumes, 10))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := p.launch(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, serveTime)
	defer cancel()
	for _, socket := range p.sockets {
		if err := p.await(ctx, socket); err != nil {
			p.stop()
			return nil, err
		}
	}
	return p, nil
}

// launch starts the process. It stays in the process group of the kubelet, which is killed and suspended as a whole, as a VM is.
func (p *programService) launch() error {
	p.cmd = exec.Command(p.spec.Path, p.args...) //nolint:noctx // stop ends it
	p.cmd.Env = append(os.Environ(), p.spec.Env...)
	p.cmd.Stdout, p.cmd.Stderr = os.Stderr, os.Stderr
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan<- error) {
		err := cmd.Wait()
		if err == nil {
			err = errors.New("exit status 0")
		}
		ended <- err
	}(p.cmd, p.ended)
	return nil
}

// await waits until the program listens.
func (p *programService) await(ctx context.Context, socket string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket); err == nil {
			return c.Close()
		}
		select {
		case err := <-p.ended:
			p.ended <- err
			return fmt.Errorf("csi node service %s: %w", p.spec.Path, err)
		case <-ctx.Done():
			return fmt.Errorf("csi node service %s: does not listen on %s", p.spec.Path, socket)
		case <-tick.C:
		}
	}
}

// Found implements [service].
func (p *programService) Found() <-chan struct{} { return nil }

// Run implements [service]. It starts a process that has exited again.
func (p *programService) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			p.stop()
			return nil
		case err := <-p.ended:
			p.log.Error("the CSI node service has exited", "program", p.spec.Path, "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(startRetry):
		}
		if err := p.launch(); err != nil {
			p.ended = make(chan error, 1)
			p.ended <- err
		}
	}
}

// stopTime is the time that a process has to end.
const stopTime = 5 * time.Second

func (p *programService) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // its only error is that it has ended
	select {
	case <-p.ended:
	case <-time.After(stopTime):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}
