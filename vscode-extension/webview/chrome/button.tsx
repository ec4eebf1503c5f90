/** Icons and the buttons that consist of one. An icon is never all there is: the button has a name. */

interface IconProps {
  name: string;
  spin?: boolean;
}

/** A codicon. */
export function Icon({ name, spin }: IconProps) {
  return <span class={`codicon codicon-${name}${spin ? " chrome-spin" : ""}`} aria-hidden="true" />;
}

interface IconButtonProps {
  icon: string;
  label: string;
  onClick: () => void;
  disabled?: boolean;
  class?: string;
}

export function IconButton({ icon, label, onClick, disabled, class: extra }: IconButtonProps) {
  return (
    <button
      type="button"
      class={`chrome-icon-button${extra ? ` ${extra}` : ""}`}
      aria-label={label}
      title={label}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
