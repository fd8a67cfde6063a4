package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiserver/pkg/audit/policy"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	apioptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	kcmapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kcmoptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// Check returns what the components refuse of the knobs, as far as that is known before they run: flags, feature gates and
// APIs that this release does not have, what the sandbox decides itself, and files that cannot be read. It changes the
// process's feature gates.
func Check(_ context.Context, k contract.Knobs) error {
	var errs []error
	add := func(err error) { errs = append(errs, err) }

	// The process keeps the gates that it was given, also those that it does not know.
	var gates []string
	for name := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		gates = append(gates, string(name))
	}
	slices.Sort(gates)
	known := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(k.FeatureGates)) {
		if slices.Contains(gates, name) {
			known[name] = k.FeatureGates[name]
		} else {
			add(fmt.Errorf("feature gates: there is no %s%s", name, meant("", name, gates)))
		}
	}
	k.FeatureGates = known
	cfg := contract.ControlPlane{Knobs: k, Speed: 1, Egress: "set"}

	api := apioptions.NewServerRunOptions()
	s, err := apiServerSettings(cfg, "")
	add(errors.Join(err, s.apply(apiServer, api.Flags())))
	if err := api.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		add(fmt.Errorf("feature gates: %w", err)) // such as one that is locked
	}
	for _, err := range api.APIEnablement.Validate(legacyscheme.Scheme, extensions.Scheme, aggregator.Scheme) {
		add(fmt.Errorf("runtime config: %w", err))
	}
	if k.AuditPolicy != "" {
		_, err := policy.LoadPolicyFromFile(k.AuditPolicy)
		add(err)
	}

	manager, err := kcmoptions.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	s, err = controllerManagerSettings(cfg)
	add(errors.Join(err, s.apply(controllerManager, manager.Flags(kcmapp.KnownControllers(), kcmapp.ControllersDisabledByDefault(), kcmapp.ControllerAliases()))))

	s, err = schedulerSettings(cfg)
	add(errors.Join(err, s.apply(scheduler, *scheduleroptions.NewOptions().Flags)))
	if k.SchedulerConfig != "" {
		_, err := schedulerConfig(cfg)
		add(err)
	}
	return errors.Join(errs...)
}
