package images

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/sidecars"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/nodeimage"
)

// The grounds that need images, and what they are for.
const (
	kindGround     = "kind"
	existingGround = "existing"

	nodePart    = "node"
	programPart = "program"
)

// grounds are all of them.
func grounds() []string { return []string{kindGround, existingGround} }

// parts are what a ground needs. On kind the programs are given to the nodes by up, which makes their images itself; they
// are carried along all the same, so that nothing is missing where only the archive is.
func parts(ground string) []string {
	if ground == kindGround {
		return []string{nodePart, programPart}
	}
	return []string{programPart}
}

// bindGround adds --ground.
func bindGround(cmd *cobra.Command, ground *string, fallback, usage string) {
	cmd.Flags().StringVar(ground, "ground", fallback, usage)
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("ground", cobra.FixedCompletions(grounds(), cobra.ShellCompDirectiveNoFileComp))
}

func checkGround(ground string) error {
	if ground == "" || slices.Contains(grounds(), ground) {
		return nil
	}
	return report.UsageError("--ground "+strings.Join(grounds(), "|"), "there is no ground %q that needs images", ground)
}

// finder is that of node images in a store.
func (o *options) finder(store images.Store, say func(string)) nodeimage.Finder {
	return nodeimage.Finder{Store: store, Kubernetes: o.kubernetes, Cache: o.cache, Say: say}
}

// programs are the images of this program, as up makes them.
func (o *options) programs(ctx context.Context) (*image.Set, error) {
	stock, err := sidecars.Find(ctx)
	if err != nil {
		return nil, err
	}
	return image.Sandbox(ctx, o.self, stock)
}

// pack adds the images of programs to an archive.
func pack(ctx context.Context, w *images.Writer, set *image.Set) error {
	var items []images.Item
	for _, name := range set.Names() {
		items = append(items, images.Item{Name: name, Part: programPart})
	}
	r, out := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := set.Write(ctx, out)
		out.CloseWithError(err)
		written <- err
	}()
	err := w.Add(ctx, r, items...)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // what is behind the tar's end
	} else {
		r.CloseWithError(err)
	}
	if werr := <-written; err == nil {
		err = werr
	}
	return err
}
