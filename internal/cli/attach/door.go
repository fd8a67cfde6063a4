package attach

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// door is what listens on this machine: the control socket, and a port for each vCenter.
type door struct {
	s      *Sandbox
	server *http.Server
	ctx    context.Context // of what is forwarded; it ends when the door closes
	cancel context.CancelFunc
	open   sync.WaitGroup

	mu       sync.Mutex
	vcenters map[string]led // by name
}

// led is a vCenter that a port of this machine leads to.
type led struct {
	port   int    // in the pod
	local  string // 127.0.0.1:port here
	caFile string
}

// serve opens the control socket, for the owner only, before anything takes time: so that every other command sees the boot.
func (s *Sandbox) serve(context.Context) error {
	path := s.opts.Dir.SocketPath()
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	ctx, cancel := context.WithCancel(context.Background()) // streams end with the sandbox, not with the boot
	d := &door{s: s, ctx: ctx, cancel: cancel, vcenters: map[string]led{}}
	d.server = &http.Server{
		Handler: s.routes(), BaseContext: func(net.Listener) context.Context { return ctx }, ReadHeaderTimeout: 10 * time.Second,
	}
	s.door = d
	d.open.Go(func() {
		if err := d.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Logger.Error("control socket", "err", err)
		}
	})
	return nil
}

// lastWords is how long readers have, when the door closes, to read what they have been told.
const lastWords = 2 * time.Second

func (d *door) close(ctx context.Context) error {
	d.cancel()
	patient, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	err := d.server.Shutdown(patient)
	if errors.Is(err, context.DeadlineExceeded) {
		err = d.server.Close()
	}
	d.open.Wait()
	return err
}

// remote is the status that the sandbox in the pod tells, as it tells it.
func (s *Sandbox) remote(ctx context.Context) (api.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	return ask[api.Status](ctx, s, "status")
}

// answerPatience bounds a question to the pod that is asked of our own accord.
const answerPatience = 10 * time.Second
