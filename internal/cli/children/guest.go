package children

import (
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/guestfiles"
)

// NewCmdGuest returns the command that becomes another program, with the files of a Supervisor's guest below /etc. It is started in a
// own mount namespace.
func NewCmdGuest() *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use:    "guest-files --config=FILE -- PROGRAM [ARG]...",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := child.ReadConfig[guestfiles.Files](config)
			if err != nil {
				return err
			}
			if err := files.Mount(); err != nil {
				return err
			}
			return syscall.Exec(args[0], args, os.Environ())
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "file that the sandbox wrote")
	_ = cmd.MarkFlagRequired("config") // its only error is an unknown flag
	return cmd
}
