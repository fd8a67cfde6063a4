package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// Run is the cloud controller manager with this provider: it takes the command line of any cloud controller manager
// (args without the program's name) and returns when ctx has ended and every session is logged out, or with the error
// that kept it from starting. It logs to stderr through klog. At most one Run in a process: the controllers keep
// process-wide registries.
//
// Beyond the standard flags it has --vcenter-call-timeout, --vcenter-max-wait and --tag-refresh-period.
func Run(ctx context.Context, args []string) error {
	cmd, err := parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	cloudConfig, err := config.LoadFile(cmd.ccm.KubeCloudShared.CloudProvider.CloudConfigFile,
		config.WithEnvironment(os.Environ()), config.WithDefaultSecrets(config.DefaultSecretsDirectory))
	if err != nil {
		return err
	}
	logs.InitLogs()
	defer logs.FlushLogs()
	if err := logsapi.ValidateAndApply(cmd.logs, utilfeature.DefaultFeatureGate); err != nil {
		return fmt.Errorf("ccm: logging flags: %w", err)
	}
	constructors := app.DefaultInitFuncConstructors
	c, err := cmd.ccm.Config(app.ControllerNames(constructors), app.ControllersDisabledByDefault.List(),
		names.CCMControllerAliases(), app.AllWebhooks, app.DisabledByDefaultWebhooks)
	if err != nil {
		return fmt.Errorf("ccm: %w", err)
	}
	cmd.provider.Logger = slog.New(logr.ToSlogHandler(klog.Background()))
	cloud, err := New(cloudConfig, cmd.provider)
	if err != nil {
		return err
	}
	complete := c.Complete()
	err = app.Run(complete, cloud, initializers(complete, cloud), map[string]app.WebhookHandler{}, ctx.Done())
	cloud.Wait()
	if err != nil {
		return fmt.Errorf("ccm: %w", err)
	}
	return nil
}

// command is a parsed command line.
type command struct {
	ccm      *options.CloudControllerManagerOptions
	logs     *logs.Options
	provider Options
}

// parse reads the command line.
func parse(args []string) (*command, error) {
	ccm, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("ccm: %w", err)
	}
	cmd := &command{ccm: ccm, logs: logs.NewOptions()}
	ccm.KubeCloudShared.CloudProvider.Name = Name
	fs := pflag.NewFlagSet("ccm", pflag.ContinueOnError)
	sets := ccm.Flags(app.ControllerNames(app.DefaultInitFuncConstructors), app.ControllersDisabledByDefault.List(),
		names.CCMControllerAliases(), app.AllWebhooks, app.DisabledByDefaultWebhooks)
	global := sets.FlagSet("global")
	logsapi.AddFlags(cmd.logs, global)
	globalflag.AddGlobalFlags(global, "ccm", logs.SkipLoggingConfigurationFlags())
	own := sets.FlagSet("vsphere")
	own.DurationVar(&cmd.provider.CallTimeout, "vcenter-call-timeout", 10*time.Second, "How long one call to a vCenter may take.")
	own.DurationVar(&cmd.provider.MaxWait, "vcenter-max-wait", time.Minute, "How long a vCenter may hold a long poll without news; a hung vCenter is noticed after this and one call's timeout.")
	own.DurationVar(&cmd.provider.TagRefresh, "tag-refresh-period", time.Minute, "How often the tags of zones and regions are read.")
	for _, set := range sets.FlagSets {
		fs.AddFlagSet(set)
	}
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, err
		}
		return nil, fmt.Errorf("ccm: %w", err)
	}
	switch {
	case fs.NArg() > 0:
		return nil, fmt.Errorf("ccm: unexpected argument %q", fs.Arg(0))
	case ccm.KubeCloudShared.CloudProvider.Name != Name:
		return nil, fmt.Errorf("ccm: --cloud-provider is %q, only %q is known", ccm.KubeCloudShared.CloudProvider.Name, Name)
	case ccm.KubeCloudShared.CloudProvider.CloudConfigFile == "":
		return nil, errors.New("ccm: --cloud-config is missing")
	}
	return cmd, nil
}

// initializers returns the controllers for what the provider offers. Those for load balancers and routes would give up
// by themselves, but complain about it first.
func initializers(c *ccmconfig.CompletedConfig, cloud cloudprovider.Interface) map[string]app.InitFunc {
	all := app.ConstructControllerInitializers(app.DefaultInitFuncConstructors, c, cloud)
	if _, ok := cloud.LoadBalancer(); !ok {
		delete(all, names.ServiceLBController)
	}
	if _, ok := cloud.Routes(); !ok {
		delete(all, names.NodeRouteController)
	}
	return all
}
