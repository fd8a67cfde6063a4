package controlplane

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

// supervisorPrefix is where the Supervisor's objects are in etcd.
const supervisorPrefix = "/supervisor"

// supervisorAPIs are the API groups of the Supervisor: those that resource definitions, rights and tokens need. Workloads run nowhere.
// Services need networking.k8s.io for their addresses; claims have StorageClasses.
func supervisorAPIs() []string {
	return []string{
		"v1", "apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1", "authentication.k8s.io/v1", "authorization.k8s.io/v1",
		"rbac.authorization.k8s.io/v1", "coordination.k8s.io/v1", "events.k8s.io/v1", "networking.k8s.io/v1",
		"discovery.k8s.io/v1", "admissionregistration.k8s.io/v1", "storage.k8s.io/v1",
	}
}

// supervisorPlugins are the admission plugins that need no other API group.
func supervisorPlugins() []string {
	return []string{"NamespaceLifecycle", "ServiceAccount"}
}

func supervisorSettings(cfg contract.ControlPlane, etcd string) settings {
	pki := func(name string) string { return filepath.Join(cfg.Supervisor.PKI, name) }
	shared := func(name string) string { return filepath.Join(cfg.PKI, name) }
	apis := []string{"api/all=false"}
	for _, group := range supervisorAPIs() {
		apis = append(apis, group+"=true")
	}
	off := slices.DeleteFunc(slices.Clone(kubeoptions.AllOrderedPlugins), func(p string) bool { return slices.Contains(supervisorPlugins(), p) })
	s := settings{
		"etcd-servers":  etcd,
		"etcd-cafile":   shared("etcd-ca.crt"),
		"etcd-certfile": shared("etcd-client.crt"),
		"etcd-keyfile":  shared("etcd-client.key"),
		"etcd-prefix":   supervisorPrefix,

		"bind-address":             cfg.Supervisor.Host,
		"advertise-address":        cfg.Supervisor.Host,
		"secure-port":              strconv.Itoa(cfg.Supervisor.Port),
		"tls-cert-file":            pki("apiserver.crt"),
		"tls-private-key-file":     pki("apiserver.key"),
		"token-auth-file":          pki("tokens.csv"),
		"endpoint-reconciler-type": "none",

		"service-account-issuer":           "https://supervisor.default.svc",
		"service-account-key-file":         pki("sa.pub"),
		"service-account-signing-key-file": pki("sa.key"),
		"service-cluster-ip-range":         cfg.ServiceCIDR,

		"authorization-mode":           "RBAC",
		"runtime-config":               strings.Join(apis, ","),
		"disable-admission-plugins":    strings.Join(off, ","),
		"enable-priority-and-fairness": "false",
		"watch-cache":                  "false",
		"profiling":                    "false",
	}
	// These are variables of the process: the guest cluster's.
	s.seconds("default-not-ready-toleration-seconds", cfg.Speed.Of(pace.NotReadyToleration))
	s.seconds("default-unreachable-toleration-seconds", cfg.Speed.Of(pace.UnreachableToleration))
	return s
}

// runSupervisor serves the Supervisor's API until ctx ends. The process's feature gates are set.
func runSupervisor(ctx context.Context, cfg contract.ControlPlane, etcd *etcdServer) error {
	l, err := inherited(cfg.Supervisor.ListenerFD)
	if err != nil {
		return err
	}
	s := supervisorSettings(cfg, etcd.endpoint)
	var skipped []string
	if seeded, err := seed(ctx, etcd, s); err != nil {
		return fmt.Errorf("bootstrap objects: %w", err)
	} else if seeded {
		skipped = bootstrapHooks()
	}
	opts := options.NewServerRunOptions()
	if err := s.apply(supervisor, opts.Flags()); err != nil {
		return err
	}
	opts.SecureServing.Listener = l
	completed, err := opts.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return utilerrors.NewAggregate(errs)
	}
	return serveAPI(ctx, completed, supervisor, skipped)
}
