package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/rbac"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
)

const (
	ccmComponent      = "ccm"
	ccmServiceAccount = "cloud-controller-manager"
	// ccmEventSource is the component name in the Events that our provider writes.
	ccmEventSource = "vsphere-cloud-provider"
	// ccmHost is where its probes and metrics are.
	ccmHost = "127.0.0.1"
)

// configPoll is how often the cloud controller manager looks at its file: a change of the ConfigMap is in the file at once.
const configPoll = 500 * time.Millisecond

// startCCM creates the ServiceAccount and roles of the cloud controller manager and starts it with a token of that
// account: it can do what its roles allow, and nothing else.
func (s *Sandbox) startCCM(ctx context.Context) error {
	c := s.opts.CCM.withDefaults()
	elect := c.Replicas > 1
	if c.Watch != "" && c.Program.Path == c.Watch {
		var err error
		if c.Program, err = s.keepBuild(c.Program); err != nil {
			return err
		}
	}
	if err := s.grantCCM(ctx, c, elect); err != nil {
		return err
	}
	if err := s.tokens.Project(ctx, s.ccmAccount()); err != nil {
		return err
	}
	if err := s.certifyCCM(); err != nil {
		return err
	}
	s.ccms.replacing.Lock()
	defer s.ccms.replacing.Unlock()
	if err := s.launchCCM(c, elect, 0); err != nil {
		return err
	}
	s.background.Run("ccm health", s.watchCCMHealth)
	if c.Watch != "" {
		s.background.Run("ccm watch", func(ctx context.Context) { s.watchCCMBuilds(ctx, c.Watch) })
	}
	return nil
}

// certifyCCM makes the certificate with which replicas serve probes and metrics, by an authority for nothing else.
func (s *Sandbox) certifyCCM() error {
	ca, err := cert.NewCA("vsphere-sandbox " + ccmComponent)
	if err != nil {
		return err
	}
	pair, err := ca.Sign(cert.Leaf{CommonName: ccmComponent, IPs: []net.IP{net.ParseIP(ccmHost)}})
	if err != nil {
		return err
	}
	s.ccms.trust(ca.Pool())
	return errors.Join(
		os.WriteFile(s.opts.Dir.Path("ccm", "serving.crt"), pair.Cert, 0o600),
		os.WriteFile(s.opts.Dir.Path("ccm", "serving.key"), pair.Key, 0o600))
}

func (s *Sandbox) ccmKubeconfig(component string) string {
	return s.opts.Dir.Path("ccm", component+".kubeconfig")
}

func (s *Sandbox) stopCCM(ctx context.Context) error {
	var errs []error
	for _, group := range []string{"ccm watch", "ccm restart"} { // or they would start one that nobody stops
		errs = append(errs, s.background.End(ctx, group))
	}
	s.ccms.tell(func() { s.ccms.stopped = true }) // who waits for one to become healthy does not any more
	s.ccms.replacing.Lock()
	errs = append(errs, stopReplicas(ctx, s.ccms.all()))
	s.ccms.replacing.Unlock()
	for _, group := range []string{"ccm health", "ccm leader", "ccm token"} {
		errs = append(errs, s.background.End(ctx, group))
	}
	s.ccms.close()
	return errors.Join(errs...)
}

func (s *Sandbox) tokenFile() string { return s.opts.Dir.Path("ccm", "token") }

// ccmAccount is the ServiceAccount as which cloud controller managers act.
func (s *Sandbox) ccmAccount() accounts.Account {
	return accounts.Account{Namespace: s.ccmNamespace(), Name: ccmServiceAccount, File: s.tokenFile(), Group: "ccm token"}
}

// CCM says which cloud controller manager runs, and how. The zero value is the built-in one.
type CCM struct {
	// Program takes the flags of cloud controller managers (k8s.io/cloud-provider). One that is not this project's runs
	// with the rights that upstream's manifests give.
	Program ccm.Program
	// Manifest is what it is deployed with where it runs as pods, applied as it is; a program that is not the built-in one
	// and has none runs as a process of this machine there, too. Program is then what is in the manifest's image.
	Manifest []byte
	// Args come after the sandbox's own, and so in their places.
	Args []string
	// Env is added to the environment, as KEY=VALUE. Variables by which providers are configured are not taken over from
	// the sandbox's own.
	Env []string
	// Replicas is how many run; 0 is one. More than one elect a leader.
	Replicas int
	// Watch is a file: whenever it has been built anew, it takes the place of the program. "" watches none.
	Watch string
	// None: none runs until one is swapped in, and what it needs in the cluster, vsphere.conf and credentials and rights,
	// somebody else puts there. Where pods run, and with a CSI driver, which has the same vsphere.conf, it is not provided for.
	None bool
}

func (c CCM) withDefaults() CCM {
	if c.Program.Path == "" {
		c.Program = ccm.Program{Source: string(ccm.Builtin), Own: true}
	}
	c.Replicas = max(c.Replicas, 1)
	return c
}

// asPods reports whether it can run as pods: a program of this machine that has no manifest is in no image.
func (c CCM) asPods() bool {
	return c.Watch == "" && (c.Program.Path == "" || len(c.Manifest) > 0)
}

// maxReplicas bounds what one machine is asked to run.
const maxReplicas = 9

// name is what the program is called in messages.
func (c CCM) name() string {
	if v := c.Program.Version; v != "" && !strings.Contains(c.Program.Source, v) {
		return c.Program.Source + " (" + v + ")"
	}
	return c.Program.Source
}

// shortDigest is as much of a digest as tells two builds apart.
func shortDigest(digest string) string {
	_, hex, _ := strings.Cut(digest, ":")
	return hex[:min(len(hex), 12)]
}

// place says what takes the place of what: of two builds of one program, by their digests.
func place(next, was CCM) string {
	a, b := next.name(), was.name()
	if a == b && next.Program.Digest != was.Program.Digest {
		a, b = a+" ("+shortDigest(next.Program.Digest)+")", b+" ("+shortDigest(was.Program.Digest)+")"
	}
	return a + " takes the place of " + b
}

// ccmLeaseName is the Lease that several elect a leader by.
const ccmLeaseName = "cloud-controller-manager"

func (s *Sandbox) ccmArgs(r *replica, c CCM, elect bool) []string {
	args := []string{
		"--cloud-provider=vsphere",
		"--cloud-config=" + s.config.File,
		"--kubeconfig=" + s.ccmKubeconfig(r.name),
		// Probes and metrics, for us: whoever may connect may read them, so that nobody's token has to be reviewed.
		"--bind-address=" + ccmHost,
		"--secure-port=" + r.port,
		"--tls-cert-file=" + s.opts.Dir.Path("ccm", "serving.crt"),
		"--tls-private-key-file=" + s.opts.Dir.Path("ccm", "serving.key"),
		"--authentication-skip-lookup=true",
		"--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics",
		"--node-monitor-period=" + s.opts.Speed.Of(pace.CCMNodeMonitor).String(),
		"--node-status-update-frequency=" + s.opts.Speed.Of(pace.CCMNodeStatusUpdate).String(),
	}
	if c.Program.Own {
		args = append(args,
			"--tag-refresh-period="+s.opts.Speed.Of(pace.TagRefresh).String(),
			"--config-poll-period="+configPoll.String(),
			"--concurrent-node-syncs=4")
		args = append(args, s.source.Args()...)
	} else {
		args = append(args, "--v=2") // as upstream's manifests have it
	}
	if elect {
		lease := s.opts.Speed.Of(pace.CCMLease)
		args = append(args,
			"--leader-elect=true",
			"--leader-elect-lease-duration="+lease.String(),
			"--leader-elect-renew-deadline="+(lease*2/3).Round(time.Millisecond).String(),
			"--leader-elect-retry-period="+(lease*2/15).Round(time.Millisecond).String(),
			"--leader-elect-resource-namespace="+s.ccmNamespace())
	} else {
		// There is one, and it is started again when it ends: no lease to wait for.
		args = append(args, "--leader-elect=false")
	}
	return append(args, c.Args...)
}

// ccmSpec is the process of a replica.
func (s *Sandbox) ccmSpec(r *replica, c CCM, elect bool) child.Spec {
	args := s.ccmArgs(r, c, elect)
	spec := s.components.Spec(child.Spec{
		Name: r.name, Path: c.Program.Path, Env: append(withoutProviderVariables(os.Environ()), c.Env...),
		Args: append([]string{ccmCommand}, args...),
	})
	if c.Program.Path != "" {
		spec.Args = args // it is no command of ours
	}
	return spec
}

// ccmCommand is the command of this program that is the built-in cloud controller manager.
const ccmCommand = "builtin-ccm"

// withoutProviderVariables leaves out what the provider would read its configuration from: VSPHERE_USER and the like, which
// a user of other vSphere tools may have set for a vCenter of flesh and blood. It also leaves out what tells a program that
// it is a pod of the cluster that the sandbox itself may run in.
func withoutProviderVariables(environ []string) []string {
	environ, _ = secret.Split(environ)
	return slices.DeleteFunc(environ, func(v string) bool {
		for _, prefix := range []string{"KUBERNETES_SERVICE_", "POD_NAME", "SKIP_NODE_DELETION", "ENABLE_ALPHA_"} {
			if strings.HasPrefix(v, prefix) {
				return true
			}
		}
		return strings.HasPrefix(v, "VSPHERE_") && !strings.HasPrefix(v, "VSPHERE_SANDBOX_")
	})
}

// ccmRights are the ServiceAccount of the cloud controller manager and what it is allowed: of our own what the provider
// itself says, of any other what upstream's manifests say.
func (s *Sandbox) ccmRights(c CCM, elect bool) []runtime.Object {
	return labeled(ccmRights(c, elect, s.ccmNamespace(), s.facts.Namespace), s.facts.Labels)
}

// labeled puts labels on objects.
func labeled(objects []runtime.Object, labels map[string]string) []runtime.Object {
	if labels != nil {
		for _, o := range objects {
			o.(metav1.Object).SetLabels(labels)
		}
	}
	return objects
}

func ccmRights(c CCM, elect bool, namespace, roles string) []runtime.Object {
	if c.Program.Own {
		return rbac.Objects(rbac.Config{
			Namespace: namespace, ServiceAccount: ccmServiceAccount, SecretNames: []string{cloudconfig.Secret}, LeaderElection: elect, LeaseNamespace: namespace,
			Roles: roles,
		})
	}
	name := cmp.Or(roles, "system:"+ccmServiceAccount)
	return []runtime.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ccmServiceAccount}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: upstreamRules()},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: ccmServiceAccount}},
		},
	}
}

// upstreamRules are those of releases/v1.36/vsphere-cloud-controller-manager.yaml in kubernetes/cloud-provider-vsphere,
// which v1.34 has, too, but for EndpointSlices. Its other role, for reviewing clients of the metrics, is not needed: we
// have it skip that.
func upstreamRules() []rbacv1.PolicyRule {
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	return []rbacv1.PolicyRule{
		rule("", "events", "create", "patch", "update"),
		rule("", "nodes", "*"),
		rule("", "nodes/status", "patch"),
		rule("", "services", "list", "patch", "update", "watch"),
		rule("", "services/status", "patch"),
		rule("", "serviceaccounts", "create", "get", "list", "watch", "update"),
		rule("", "persistentvolumes", "get", "list", "update", "watch"),
		rule("", "endpoints", "create", "get", "list", "watch", "update"),
		rule("discovery.k8s.io", "endpointslices", "get", "list", "watch"),
		rule("", "secrets", "get", "list", "watch"),
		rule("coordination.k8s.io", "leases", "get", "list", "watch", "create", "update"),
	}
}

// grantCCM gives the ServiceAccount the rights of a program, and takes away those that it had for another.
func (s *Sandbox) grantCCM(ctx context.Context, c CCM, elect bool) error {
	rights := s.ccmRights(c, elect)
	wanted := map[string]bool{}
	for _, o := range rights {
		wanted[objectKey(o)] = true
		if err := accounts.Create(ctx, s.cluster.Client(), o); apierrors.IsAlreadyExists(err) {
			err = accounts.Update(ctx, s.cluster.Client(), o)
			if err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	s.ccms.mu.Lock()
	had := s.ccms.rights
	s.ccms.rights = rights
	s.ccms.mu.Unlock()
	var errs []error
	for _, o := range had {
		if !wanted[objectKey(o)] {
			if err := accounts.Delete(ctx, s.cluster.Client(), o); !apierrors.IsNotFound(err) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func objectKey(o runtime.Object) string {
	m := o.(metav1.Object)
	return fmt.Sprintf("%T %s/%s", o, m.GetNamespace(), m.GetName())
}

// noCCM is what runs where there is no cloud controller manager yet.
func noCCM() CCM { return CCM{None: true, Program: ccm.Program{Source: "none"}} }

// startNoCCM prepares for a cloud controller manager that somebody brings later, by [Sandbox.swapCCM].
func (s *Sandbox) startNoCCM(context.Context) error {
	if err := s.certifyCCM(); err != nil {
		return err
	}
	s.ccms.tell(func() { s.ccms.runs = noCCM() })
	s.background.Run("ccm health", s.watchCCMHealth)
	return nil
}

// adoptCCM does for a process what a kubelet does before it starts the pod of a cloud controller manager that somebody
// has deployed: vsphere.conf of their ConfigMap is there, and a token of their ServiceAccount. Nothing is granted to it.
func (s *Sandbox) adoptCCM(ctx context.Context) error {
	s.ccms.adopting.Lock()
	defer s.ccms.adopting.Unlock()
	core := s.cluster.Client().CoreV1()
	m, err := core.ConfigMaps(cloudconfig.Namespace).Get(ctx, cloudconfig.ConfigMap, metav1.GetOptions{})
	switch _, there := m.Data[cloudconfig.Key]; {
	case apierrors.IsNotFound(err), err == nil && !there:
		return lacking("vsphere-sandbox kubectl -n "+cloudconfig.Namespace+" create configmap "+cloudconfig.ConfigMap+" --from-file="+cloudconfig.Key,
			"ConfigMap %s/%s with a key %s", cloudconfig.Namespace, cloudconfig.ConfigMap, cloudconfig.Key)
	case err != nil:
		return err
	}
	_, err = core.ServiceAccounts(cloudconfig.Namespace).Get(ctx, ccmServiceAccount, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return lacking("vsphere-sandbox kubectl apply -k DIR   # an overlay of manifests/ccm",
			"ServiceAccount %s/%s", cloudconfig.Namespace, ccmServiceAccount)
	case err != nil:
		return err
	}
	if err := s.awaitProjection(ctx); err != nil {
		return err
	}
	if s.ccms.adopted { // it is renewed already; of an account that was made anew meanwhile, it has to be another
		_, err := s.tokens.Write(ctx, s.ccmAccount())
		return err
	}
	if err := s.tokens.Project(ctx, s.ccmAccount()); err != nil {
		return err
	}
	s.ccms.adopted = true
	return nil
}

// awaitProjection returns when the file is there: a watch may tell of a ConfigMap a moment after it was made.
func (s *Sandbox) awaitProjection(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(s.config.File); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s of ConfigMap %s/%s: not written to a file: %w", cloudconfig.Key, cloudconfig.Namespace, cloudconfig.ConfigMap, context.Cause(ctx))
		}
	}
}

// lacking says what is not there yet, and how it gets there.
func lacking(try, format string, args ...any) *api.Error {
	e := api.Conflict("no cloud controller manager can start: there is no "+format, args...)
	e.Try = try
	return e
}
