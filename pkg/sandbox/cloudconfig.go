package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// Names of what the cloud controller manager is configured with: those of upstream's release manifests.
const (
	cloudNamespace = metav1.NamespaceSystem
	cloudConfigMap = "vsphere-cloud-config"
	cloudConfigKey = "vsphere.conf"
	cloudSecret    = "vsphere-cloud-secret"
)

// writeCloudConfig puts vsphere.conf into a ConfigMap and the credentials into a Secret, as a user would, and starts
// to project the ConfigMap into the file that the cloud controller manager reads, as a kubelet would.
func (s *Sandbox) writeCloudConfig(ctx context.Context) error {
	if s.opts.CCM.None { // whoever brings one brings that, too
		return s.projectCloudConfig(ctx)
	}
	if s.ccmDeployed() { // which brings its own, when it comes
		conf, err := s.podConfig()
		s.cloudConf = string(conf)
		return err
	}
	if err := distinctHosts(s.vcenters); err != nil {
		return err
	}
	conf, err := s.source.CloudConfig(s.ownPlace())
	if err != nil {
		return err
	}
	s.cloudConf = string(conf)
	core := s.cluster.Client().CoreV1()
	_, err = core.ConfigMaps(s.ccmNamespace()).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: cloudConfigMap, Labels: s.facts.Labels},
		Data:       map[string]string{cloudConfigKey: string(conf)},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	secret := map[string]string{}
	for _, vc := range s.vcenters {
		secret[vc.Host()+".username"] = vc.User()
		secret[vc.Host()+".password"] = vc.Password()
	}
	_, err = core.Secrets(s.ccmNamespace()).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: cloudSecret, Labels: s.facts.Labels},
		StringData: secret,
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := s.watchCredentials(); err != nil {
		return err
	}
	return s.projectCloudConfig(ctx)
}

// ownPlace is that of a cloud controller manager that is a process of this machine.
func (s *Sandbox) ownPlace() sim.CloudConfig {
	return sim.CloudConfig{CAFile: s.vcenterCA(), SecretName: cloudSecret, SecretNamespace: s.ccmNamespace()}
}

// podConfig is vsphere.conf as pods have it, but for where its files are: each manifest has its own place for them.
func (s *Sandbox) podConfig() ([]byte, error) {
	return s.pods.conf(deploy.Place{SecretName: cloudSecret, SecretNamespace: cloudNamespace})
}

// configurePods is updateCloudConfig for pods. What the Secret says by now stays, whoever has written that.
func (s *Sandbox) configurePods(ctx context.Context) error {
	config, err := s.pods.config()
	if err != nil {
		return err
	}
	switch secret, err := s.cluster.Client().CoreV1().Secrets(cloudNamespace).Get(ctx, cloudSecret, metav1.GetOptions{}); {
	case err == nil:
		config.Secret = secret.Data
	case !apierrors.IsNotFound(err):
		return err
	}
	return s.pods.Configure(ctx, config)
}

// distinctHosts refuses vCenters that differ by port alone, as they do where the system has one loopback address: the keys
// of the Secret name a vCenter by its host, upstream's too.
func distinctHosts(vcenters []*vcenters.VCenter) error {
	owner := map[string]string{}
	for _, vc := range vcenters {
		if other, taken := owner[vc.Host()]; taken {
			return fmt.Errorf("vCenters %q and %q share the address %s, and a cloud config tells vCenters apart by address: "+
				"give this machine more loopback addresses (macOS: sudo ifconfig lo0 alias 127.0.0.11 up, and so on), or use a topology with one vCenter",
				other, vc.Name(), vc.Host())
		}
		owner[vc.Host()] = vc.Name()
	}
	return nil
}

// cloudConfigFile is where the cloud controller manager finds vsphere.conf.
func (s *Sandbox) cloudConfigFile() string { return s.opts.Dir.Path("ccm", cloudConfigKey) }

// projectCloudConfig returns when the file is there, and keeps it as the ConfigMap says.
func (s *Sandbox) projectCloudConfig(ctx context.Context) error {
	if err := os.MkdirAll(s.opts.Dir.Path("ccm"), 0o700); err != nil {
		return err
	}
	factory := s.informersOf(cloudConfigMap)
	maps := factory.Core().V1().ConfigMaps().Informer()
	p := projection{s: s, file: s.cloudConfigFile()}
	project := func(o any) { p.project(o.(*corev1.ConfigMap).Data) }
	handler, err := maps.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    project,
		UpdateFunc: func(_, o any) { project(o) },
	})
	if err != nil {
		return err
	}
	s.background.Run("cloud config", func(ctx context.Context) {
		factory.Start(ctx.Done())
		<-ctx.Done()
		factory.Shutdown()
	})
	if !cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		return errors.Join(errors.New("the API server does not list ConfigMaps"), context.Cause(ctx))
	}
	return nil
}

// informersOf returns informers of whatever has this name beside the cloud controller manager.
func (s *Sandbox) informersOf(name string) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(s.cluster.Client(), 0,
		informers.WithNamespace(s.ccmNamespace()),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
		}))
}

func (s *Sandbox) unwatchCloudConfig(ctx context.Context) error {
	return s.background.End(ctx, "cloud config")
}

// projection is the file with vsphere.conf, as a kubelet keeps it for a pod that mounts the ConfigMap: with whatever is in
// the key, nothing as well, and gone when the key is. A ConfigMap that is gone leaves the file as it was.
type projection struct {
	s    *Sandbox
	file string

	made bool    // it was there once
	last *string // what is in it; nil while it is not there
}

// project brings the file up to date. It is called by one goroutine at a time.
func (p *projection) project(data map[string]string) {
	conf, there := data[cloudConfigKey]
	if !there && p.last == nil || there && p.last != nil && conf == *p.last {
		return
	}
	write, what := func() error { return atomicfile.WriteFile(p.file, []byte(conf), 0o600) }, "changed"
	switch {
	case !there:
		write, what = func() error { return os.Remove(p.file) }, "is gone"
	case conf == "":
		what = "is empty"
	}
	if p.made {
		p.s.cloudConfigChanged(what) // first: what comes of it comes later
	}
	if err := write(); err != nil {
		p.s.cloudConfigRefused(err)
		return
	}
	if p.last, p.made = nil, true; there {
		p.last = &conf
	}
}

// cloudConfigChanged notes that vsphere.conf is about to be another. The cloud controller manager notices that by itself.
func (s *Sandbox) cloudConfigChanged(what string) {
	s.log.Append(event.Event{
		Plane: event.PlaneKubernetes, Kind: "ccm.config-changed",
		Object: event.Object{Kind: "ConfigMap", Name: cloudConfigMap}, Message: cloudConfigKey + " " + what,
		Cause: s.causes.OfChange("ConfigMap", cloudConfigMap),
	})
	s.ccms.mu.Lock()
	defer s.ccms.mu.Unlock()
	s.ccms.unsettled = true
}

// cloudConfigRefused notes that the cloud controller manager does not get to see what the ConfigMap says.
func (s *Sandbox) cloudConfigRefused(err error) {
	s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "ccm.config-rejected",
		Object: event.Object{Kind: "ConfigMap", Name: cloudConfigMap}, Message: err.Error(),
		Cause: s.causes.OfChange("ConfigMap", cloudConfigMap),
	})
}
