package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/children"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

func main() {
	root := &cobra.Command{Use: "spike", RunE: func(*cobra.Command, []string) error { return spike() }}
	root.AddCommand(children.NewCmdControlPlane(), children.NewCmdNode())
	if err := root.ExecuteContext(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func spike() error {
	dir, _ := os.MkdirTemp("", "spike")
	fmt.Println(dir)
	t0 := time.Now()
	c, err := embedded.New(embedded.Options{Name: "x", Dir: dir, Speed: 10})
	must(err)
	fmt.Println("pki", time.Since(t0))
	spec := c.Spec("control-plane")
	spec.LogPath = dir + "/cp.log"
	spec.Once = true
	cp := child.Start(spec, func(ch child.Change) { fmt.Println(ch.State, ch.PID, ch.Err, ch.Tail) })
	defer cp.Stop(context.Background())
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	must(c.WaitReady(ctx, func(s string) { fmt.Println(time.Since(t0), s) }))
	fmt.Println("ready", time.Since(t0))
	nd := dir + "/n1"
	os.MkdirAll(nd, 0o700)
	must(c.NodeKubeconfig(nd+"/kubeconfig", "n1"))
	cfg := node.Config{Name: "n1", RootDir: nd + "/root", Kubeconfig: nd + "/kubeconfig", SystemUUID: uuid.NewString(), CPUs: 2, MemoryBytes: 4 << 30, OSImage: "x", Kernel: "y", Speed: 10}
	must(cfg.Write(nd + "/config.json"))
	n := child.Start(child.Spec{Name: "node/n1", Args: []string{"node", "--config=" + nd + "/config.json"}, LogPath: dir + "/n1.log"}, func(ch child.Change) { fmt.Println(ch.State, ch.PID, ch.Err, ch.Tail) })
	defer n.Stop(context.Background())
	for i := 0; i < 200; i++ {
		nn, err := c.Client().CoreV1().Nodes().Get(context.Background(), "n1", metav1.GetOptions{})
		if err == nil {
			for _, cd := range nn.Status.Conditions {
				if cd.Type == "Ready" {
					fmt.Println(time.Since(t0), cd.Status, cd.Reason, cd.Message, nn.Status.NodeInfo, nn.Spec.Taints)
					if cd.Status == "True" {
						i = 1000
					}
				}
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	if len(os.Args) > 0 {
		fmt.Println("kubeconfig", c.Kubeconfig())
		time.Sleep(60 * time.Second)
	}
	return nil
}
