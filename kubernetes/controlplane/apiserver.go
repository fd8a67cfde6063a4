package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

func apiServerSettings(cfg contract.ControlPlane, etcd string) (settings, error) {
	pki := func(name string) string { return filepath.Join(cfg.PKI, name) }
	issuer := "https://kubernetes.default.svc.cluster.local"
	s := settings{
		"etcd-servers":  etcd,
		"etcd-cafile":   pki("etcd-ca.crt"),
		"etcd-certfile": pki("etcd-client.crt"),
		"etcd-keyfile":  pki("etcd-client.key"),

		"bind-address":         cfg.Host,
		"advertise-address":    cfg.Host,
		"secure-port":          strconv.Itoa(cfg.Port),
		"tls-cert-file":        pki("apiserver.crt"),
		"tls-private-key-file": pki("apiserver.key"),
		"client-ca-file":       pki("ca.crt"),
		// A loopback address is not allowed in Endpoints: the kubernetes Service has none here.
		"endpoint-reconciler-type": "none",

		"kubelet-certificate-authority": pki("ca.crt"),
		"kubelet-client-certificate":    pki("apiserver-kubelet-client.crt"),
		"kubelet-client-key":            pki("apiserver-kubelet-client.key"),
		// As kubeadm's. The proxy knows names, too, but the API server resolves them itself for some requests.
		"kubelet-preferred-address-types": "InternalIP,ExternalIP,Hostname",

		"requestheader-client-ca-file":       pki("front-proxy-ca.crt"),
		"requestheader-allowed-names":        "front-proxy-client",
		"requestheader-extra-headers-prefix": "X-Remote-Extra-",
		"requestheader-group-headers":        "X-Remote-Group",
		"requestheader-username-headers":     "X-Remote-User",
		"proxy-client-cert-file":             pki("front-proxy-client.crt"),
		"proxy-client-key-file":              pki("front-proxy-client.key"),

		"service-account-issuer":           issuer,
		"service-account-key-file":         pki("sa.pub"),
		"service-account-signing-key-file": pki("sa.key"),
		"service-cluster-ip-range":         cfg.ServiceCIDR,

		"authorization-mode":       "Node,RBAC",
		"enable-admission-plugins": "NodeRestriction",
		"allow-privileged":         "true",
		"profiling":                "false",
	}
	s.seconds("default-not-ready-toleration-seconds", cfg.Speed.Of(pace.NotReadyToleration))
	s.seconds("default-unreachable-toleration-seconds", cfg.Speed.Of(pace.UnreachableToleration))
	if cfg.Egress != "" {
		s["egress-selector-config-file"] = pki(egressConfig)
	}
	if cfg.AuditLog != "" {
		s["audit-log-path"] = cfg.AuditLog
		s["audit-policy-file"] = pki("audit-policy.yaml")
	}
	return s, s.setKnobs(apiServer, cfg.Knobs)
}

// runAPIServer serves until ctx ends. It is the first to set the process's feature gates.
func runAPIServer(ctx context.Context, cfg contract.ControlPlane, etcd *etcdServer) error {
	l, err := inherited(cfg.ListenerFD)
	if err != nil {
		return err
	}
	s, err := apiServerSettings(cfg, etcd.endpoint)
	if err != nil {
		return err
	}
	var skipped []string
	if seeded, err := seed(ctx, etcd, s); err != nil {
		return fmt.Errorf("bootstrap objects: %w", err)
	} else if seeded {
		skipped = bootstrapHooks()
	}
	opts := options.NewServerRunOptions()
	if err := s.apply(apiServer, opts.Flags()); err != nil {
		return err
	}
	opts.SecureServing.Listener = l
	if err := fixClientCA(opts.Authentication.ClientCert); err != nil {
		return err
	}
	if err := opts.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	utilfeature.DefaultMutableFeatureGate.AddMetrics() // of all three components: they are one process
	opts.GenericServerRunOptions.ComponentGlobalsRegistry.AddMetrics()
	completed, err := opts.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return utilerrors.NewAggregate(errs)
	}
	return serveAPI(ctx, completed, apiServer, skipped)
}

// serveAPI is app.Run without some of the post-start hooks. The name is that of the component in metrics.
func serveAPI(ctx context.Context, opts options.CompletedOptions, name string, skipped []string) error {
	if err := nameInformers(&opts, name); err != nil {
		return err
	}
	config, err := app.NewConfig(opts)
	if err != nil {
		return err
	}
	generic := config.KubeAPIs.ControlPlane.Generic
	generic.DisabledPostStartHooks.Insert(skipped...)
	if err := fixServing(generic.SecureServing); err != nil {
		return err
	}
	completed, err := config.Complete()
	if err != nil {
		return err
	}
	server, err := app.CreateServerChain(completed)
	if err != nil {
		return err
	}
	prepared, err := server.PrepareRun()
	if err != nil {
		return err
	}
	return prepared.Run(ctx)
}

// inherited returns the parent's listening socket, inherited as fd.
func inherited(fd int) (net.Listener, error) {
	f := os.NewFile(uintptr(fd), "listener")
	if f == nil {
		return nil, fmt.Errorf("file descriptor %d: not inherited", fd)
	}
	defer f.Close() // FileListener duplicates it
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("inherited listener: %w", err)
	}
	return l, nil
}

// followTuning calls tell with the contents of the tuning file, now and after each notification of the parent, until ctx
// ends. It returns early only if the parent is gone.
func followTuning(ctx context.Context, cfg contract.ControlPlane, report func(contract.Tuning)) error {
	pipe, err := openPipe(cfg.NotifyFD)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { pipe.Close() })()
	defer pipe.Close()
	for buf := make([]byte, 64); ; { // several notifications are read as one
		t, err := contract.ReadTuning(cfg.Tuning)
		if err != nil {
			klog.ErrorS(err, "tuning")
		} else {
			report(t)
		}
		switch _, err := pipe.Read(buf); {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("the parent is gone")
		case err != nil:
			return err
		}
	}
}

// openPipe returns the parent's pipe, inherited as fd.
func openPipe(fd int) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil { // so that a blocked Read needs no thread
		return nil, fmt.Errorf("file descriptor %d: %w", fd, err)
	}
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "tuning"), nil
}
