package runtime

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/kubernetes/shell"
)

// streams is the server of exec, attach and port-forward: the kubelet connects a client to a URL of it, which has a token and is
// good for one request. It listens on a loopback port, from the first request on.
type streams struct {
	mu       sync.Mutex
	server   streamServer
	http     *http.Server
	stopped  bool
	finished sync.WaitGroup
}

// get returns the server.
func (s *streams) get(r *Runtime) (streamServer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil || s.stopped {
		if s.stopped {
			return nil, errors.New("the runtime is stopped")
		}
		return s.server, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server, err := newStreamServer(&url.URL{Scheme: "http", Host: l.Addr().String()}, streamer{r})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s.server = server
	s.http = &http.Server{Handler: server, ReadHeaderTimeout: time.Minute}
	s.finished.Go(func() { _ = s.http.Serve(l) })
	return server, nil
}

func (s *streams) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.http != nil {
		_ = s.http.Close()
		s.finished.Wait()
	}
}

// streamsOf returns the server for streams of a container, which must be running.
func (r *Runtime) streamsOf(container string) (streamServer, error) {
	c, err := r.find(container)
	if err != nil {
		return nil, err
	}
	if err := c.running(); err != nil {
		return nil, err
	}
	return r.streams.get(r)
}

// Exec implements the CRI.
func (r *Runtime) Exec(_ context.Context, req *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	s, err := r.streamsOf(req.GetContainerId())
	if err != nil {
		return nil, err
	}
	return s.GetExec(req)
}

// Attach implements the CRI.
func (r *Runtime) Attach(_ context.Context, req *runtimeapi.AttachRequest) (*runtimeapi.AttachResponse, error) {
	s, err := r.streamsOf(req.GetContainerId())
	if err != nil {
		return nil, err
	}
	return s.GetAttach(req)
}

// PortForward implements the CRI.
func (r *Runtime) PortForward(_ context.Context, req *runtimeapi.PortForwardRequest) (*runtimeapi.PortForwardResponse, error) {
	s, err := r.streams.get(r)
	if err != nil {
		return nil, err
	}
	return s.GetPortForward(req)
}

// streamer implements what the streaming server calls.
type streamer struct{ r *Runtime }

// Exec runs a command with its streams.
func (s streamer) Exec(ctx context.Context, id string, cmd []string, in io.Reader, out, errs io.WriteCloser, tty bool, resize <-chan terminalSize) error {
	var terminal *shell.Terminal
	if tty {
		terminal = terminalOf(resize)
	}
	return s.r.execute(ctx, id, cmd, in, writer(out), writer(errs), terminal)
}

// Attach connects to the streams of a container.
func (s streamer) Attach(ctx context.Context, id string, in io.Reader, out, errs io.WriteCloser, _ bool, resize <-chan terminalSize) error {
	go drain(resize)
	return s.r.attach(ctx, id, in, writer(out), writer(errs))
}

// PortForward connects to a port of a pod.
func (s streamer) PortForward(ctx context.Context, id string, port int32, stream io.ReadWriteCloser) error {
	return s.r.forward(ctx, id, port, stream)
}

// writer returns a stream that may be missing, as a nil interface.
func writer(w io.WriteCloser) io.Writer {
	if w == nil {
		return nil
	}
	return w
}

// terminalOf returns a terminal that follows its client's window.
func terminalOf(resize <-chan terminalSize) *shell.Terminal {
	t := &shell.Terminal{}
	go func() {
		for size := range resize {
			t.Resize(int(size.Width), int(size.Height))
		}
	}()
	return t
}

// drain reads sizes that nothing needs: their sender waits.
func drain(resize <-chan terminalSize) {
	for range resize {
	}
}

// forward serves a connection to a port that a container of the pod declares.
func (r *Runtime) forward(ctx context.Context, id string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	r.mu.Lock()
	s := r.sandboxes[id]
	var kind string
	var server *container
	if s != nil {
		for _, c := range r.containers {
			if k := c.does.Ports[strconv.Itoa(int(port))]; k != "" && c.sandbox == s && c.current() == runtimeapi.ContainerState_CONTAINER_RUNNING {
				kind, server = k, c
			}
		}
	}
	r.mu.Unlock()
	if s == nil {
		return notFound("sandbox", id)
	}
	if server == nil {
		return fmt.Errorf("connect to port %d: connection refused: nothing listens there; annotation %s declares ports", port, BehaviorKey)
	}
	if err := server.ready(); err != nil {
		return fmt.Errorf("connect to port %d: connection refused: %w", port, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = stream.Close() })()
	defer context.AfterFunc(server.killed, cancel)()
	if kind == portEcho {
		_, err := io.Copy(stream, stream)
		return err
	}
	return r.serveHTTP(server, port, stream)
}

// serveHTTP answers requests on one connection, until the client closes it.
func (r *Runtime) serveHTTP(c *container, port int32, stream io.ReadWriter) error {
	in := bufio.NewReader(stream)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
				return nil
			}
			return err
		}
		_, _ = io.Copy(io.Discard, req.Body)
		body := fmt.Sprintf("%s %s\npod: %s/%s\ncontainer: %s\nnode: %s\nport: %d\n", req.Method, req.URL.RequestURI(),
			c.sandbox.config.GetMetadata().GetNamespace(), c.sandbox.config.GetMetadata().GetName(), c.config.GetMetadata().GetName(), r.opts.Node, port)
		if _, err := fmt.Fprintf(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nDate: %s\r\n\r\n",
			len(body), time.Now().UTC().Format(http.TimeFormat)); err != nil {
			return err
		}
		if req.Method != http.MethodHead {
			if _, err := io.WriteString(stream, body); err != nil {
				return err
			}
		}
		if req.Close {
			return nil
		}
	}
}
