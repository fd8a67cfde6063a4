package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writeLicenses writes, for each platform, the terms of everything that is linked into any of the programs, in a folder
// OS_ARCHITECTURE in place of one that was there. Nothing is compiled.
func writeLicenses(ctx context.Context, o *options, stdout io.Writer) error {
	for _, platform := range o.platforms {
		dir := filepath.Join(o.out, platform.OS+"_"+platform.Architecture)
		if err := os.RemoveAll(filepath.Join(dir, licensesFolder)); err != nil {
			return err
		}
		for _, p := range o.programs {
			files, err := licenses(ctx, o, p, platform)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			for _, f := range files {
				name := filepath.Join(dir, filepath.FromSlash(f.name))
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(name, f.data, 0o644); err != nil {
					return err
				}
			}
		}
		fmt.Fprintln(stdout, dir)
	}
	return nil
}
