import { withSeen } from './pick';

/** The matches that this tab has shown, so that others come first. */
class Seen {
  ids: readonly string[] = [];

  add(id: string): void {
    this.ids = withSeen(this.ids, id);
  }
}

export const seen = new Seen();
