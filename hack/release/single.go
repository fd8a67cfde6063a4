package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// job is the snapshot of one platform.
type job struct {
	*config
	values
	root   string
	goos   string
	goarch string
	stdout io.Writer
}

// single does what the configuration says, for one platform. What it makes lies in the folder dist, which is emptied first.
func single(ctx context.Context, args []string, stdout io.Writer) error {
	j := &job{stdout: stdout}
	set := flag.NewFlagSet("single", flag.ContinueOnError)
	set.StringVar(&j.root, "root", ".", "the repository's `folder`")
	set.StringVar(&j.goos, "goos", runtime.GOOS, "the operating `system`")
	set.StringVar(&j.goarch, "goarch", runtime.GOARCH, "the `architecture`")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	var err error
	if j.root, err = filepath.Abs(j.root); err != nil {
		return err
	}
	if j.config, err = readConfig(filepath.Join(j.root, ".goreleaser.yaml")); err != nil {
		return err
	}
	if b := j.Builds[0]; !slices.Contains(b.Goos, j.goos) || !slices.Contains(b.Goarch, j.goarch) {
		return fmt.Errorf("%s/%s: releases are for %s on %s", j.goos, j.goarch, strings.Join(b.Goos, ", "), strings.Join(b.Goarch, ", "))
	}
	if j.values, err = newValues(ctx, j.config, j.root, j.goos, j.goarch); err != nil {
		return err
	}
	for _, hook := range j.Before.Hooks {
		if err := j.hook(ctx, hook, j.environ()); err != nil {
			return err
		}
	}
	if err := j.clear(); err != nil {
		return err
	}
	program, err := j.compile(ctx)
	if err != nil {
		return err
	}
	packed, err := j.pack(program)
	if err != nil {
		return err
	}
	document, err := j.bill(ctx, program)
	if err != nil {
		return err
	}
	return j.sums(packed, document)
}

// clear empties the folder for what is made. It is removed only if it is below the repository.
func (j *job) clear() error {
	if !filepath.IsLocal(j.Dist) || filepath.Clean(j.Dist) == "." {
		return fmt.Errorf("dist: %q is not below the repository", j.Dist)
	}
	return errors.Join(os.RemoveAll(j.dist()), os.MkdirAll(j.dist(), 0o755))
}

func (j *job) dist(names ...string) string {
	return filepath.Join(append([]string{j.root, j.Dist}, names...)...)
}

// compile makes the program, after its hooks, with their environment.
func (j *job) compile(ctx context.Context) (string, error) {
	b := j.Builds[0]
	extra, err := j.all(b.Env)
	if err != nil {
		return "", err
	}
	environ := append(j.environ(), extra...)
	for _, hook := range b.Hooks.Pre {
		if err := j.hook(ctx, hook, environ); err != nil {
			return "", err
		}
	}
	ldflags, err := j.all(b.Ldflags)
	if err != nil {
		return "", err
	}
	program := j.dist(b.ID+"_"+j.goos+"_"+j.goarch, b.Binary)
	args := []string{"go", "build", "-tags=" + strings.Join(b.Tags, ","), "-ldflags=" + strings.Join(ldflags, " "), "-o", program, b.Main}
	if err := j.execute(ctx, j.root, append(environ, "GOOS="+j.goos, "GOARCH="+j.goarch), args); err != nil {
		return "", err
	}
	if b.ModTimestamp == "" {
		return program, nil
	}
	at, err := j.apply(b.ModTimestamp)
	if err != nil {
		return "", err
	}
	seconds, err := time.ParseDuration(at + "s")
	when := time.Unix(0, 0).Add(seconds)
	return program, errors.Join(err, os.Chtimes(program, when, when))
}

// bill has a document written of the program, and returns its path.
func (j *job) bill(ctx context.Context, program string) (string, error) {
	s := j.SBOMs[0]
	document, err := j.apply(s.Documents[0])
	if err != nil {
		return "", err
	}
	relative, err := filepath.Rel(j.dist(), program)
	if err != nil {
		return "", err
	}
	args, err := j.all(s.Args)
	if err != nil {
		return "", err
	}
	for i := range args {
		args[i] = strings.NewReplacer("$artifact", relative, "$document", document).Replace(args[i])
	}
	environ := append(j.environ(), s.Env...)
	return j.dist(document), j.execute(ctx, j.dist(), environ, append([]string{s.Cmd}, args...))
}

// hook runs a line of the configuration in the repository. Quotes are not understood, and not needed.
func (j *job) hook(ctx context.Context, line string, environ []string) error {
	line, err := j.apply(line)
	if err != nil {
		return err
	}
	if strings.ContainsAny(line, `'"\`) {
		return fmt.Errorf("hook %s: quotes are not understood", line)
	}
	return j.execute(ctx, j.root, environ, strings.Fields(line))
}

func (j *job) execute(ctx context.Context, dir string, environ, args []string) error {
	fmt.Fprintln(j.stdout, "•", strings.Join(args, " "))
	if dir == j.root && strings.Contains(args[0], "/") {
		args = append([]string{filepath.Join(j.root, args[0])}, args[1:]...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, environ, j.stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}
