package main

import (
	"context"
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that a kubeconfig may name
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmutil "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// programs are all of them by name. Each runs with the process's arguments and returns its exit status, if it returns.
func programs() map[string]func() int {
	return map[string]func() int{
		"etcd":           func() int { etcdmain.Main(os.Args); return 0 },
		"kube-apiserver": func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
		"kube-controller-manager": func() int {
			if err := waits(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return cli.Run(controllermanager.NewControllerManagerCommand())
		},
		"kube-proxy":     func() int { return cli.Run(proxy.NewProxyCommand()) },
		"kube-scheduler": func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
		"kubeadm":        func() int { kubeadmutil.HandleError(kubeadm.Run()); return 0 },
		"kubectl": func() int {
			kubectlutil.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
			return 0
		},
		"kubelet": func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	}
}
